import type { CommandName } from '../command-line'

const SETTINGS = `Settings, each a flag or a variable; the flag wins:
  --stream NAME             READYROOM_STREAM           who asks, where a ticket names no stream itself
                                                       (default: the name of the working folder)
  --token SECRET            READYROOM_TOKEN            guards /api and /mcp; needed for a bind that is not loopback.
                                                       Rather the variable: a flag can be seen in the process list
  --bind ADDRESS            READYROOM_BIND             where to listen (default: 127.0.0.1)
  --port NUMBER             READYROOM_PORT             default 8971; 3000 to 3899 are refused
  --state-dir FOLDER        READYROOM_STATE_DIR        where the queue lives (default: one folder a person)
  --allowed-origins LIST    READYROOM_ALLOWED_ORIGINS  further origins, with commas between them
  --origin-policy POLICY    READYROOM_ORIGIN_POLICY    strict (default) or spec, which admits /mcp without an Origin
  --trust-proxy WHOM        READYROOM_TRUST_PROXY      off (default), on, or the addresses of the proxies
  --frame-ancestors LIST    READYROOM_FRAME_ANCESTORS  who may embed the page, beside itself
  --metrics on              READYROOM_METRICS          serve /metrics to Prometheus, behind the token (default: off)

For the process that an agent starts, variables only:
  READYROOM_AGENT_TOKEN     whom it speaks for, where agents have tokens (readyroom admin)
  READYROOM_TOOLS           decisions (default), room, or all (default with an agent's token)
  READYROOM_URL             where the Ready Room is, when it is elsewhere; nothing is then kept or served here

Variables only: READYROOM_ALLOWED_HOSTS, READYROOM_DNS_REBIND_PROTECTION, READYROOM_AUTH_FAIL_LIMIT and _WINDOW,
READYROOM_PUBLIC_URL, READYROOM_PUBLIC_HOSTS, READYROOM_LAN_URL, READYROOM_ADMIN_API, READYROOM_ENABLE_UI,
READYROOM_CONSOLE_LAN_ONLY, READYROOM_MAX_WAIT_S, READYROOM_MAX_FILE_BYTES, READYROOM_PRUNE and READYROOM_PRUNE_INTERVAL,
READYROOM_MQTT_URL, _USER, _PASSWORD and _PREFIX; README.md says what each is for.
`

const EXIT = 'Exit codes: 0, 1 failure, 2 a command line that is not understood. Logs go to standard error.\n'

const TEXTS: Record<CommandName, string> = {
  stdio: `Ready Room: one queue between many coding agents and the person who answers for them.

  readyroom            speaks MCP on standard input and output, and serves the heads-up page; an MCP client starts this.
                       On a terminal it serves until it is stopped
  readyroom serve      serves over HTTP only, until it is stopped
  readyroom status     says what runs
  readyroom stop       ends what runs
  readyroom setup      tells an MCP client of it: claude, codex, gemini, cursor, vscode or opencode
  readyroom doctor     looks for what is wrong, and says what mends it
  readyroom audit      reads and checks the audit log
  readyroom admin      gives agents tokens of their own, and rooms to talk in
  readyroom hook       tells an agent what it has not seen; a client's hook starts this
  readyroom watch      wakes an agent that waits, a line each time
  readyroom help COMMAND, readyroom --help, readyroom --version

${SETTINGS}
${EXIT}`,
  serve: `readyroom serve

Serves the heads-up page, the API and MCP over HTTP, until it is stopped (SIGTERM, SIGINT, or readyroom stop). Where a
Ready Room runs already it stands by, and takes over when that one goes.

${SETTINGS}
${EXIT}`,
  status: `readyroom status [--json]

Says which process owns the queue, where its page is, how much is pending and who is attached. Exit code 0 where one
runs, 1 where none does. --state-dir and READYROOM_STATE_DIR say which queue is meant.

  --json               one JSON object: {"running": true, "page", "pid", "port", "version", "pending", ...}
`,
  admin: `readyroom admin init
readyroom admin add-room ROOM
readyroom admin add-token --agent NAME --room ROOM [--also ROOM]... [--readonly|--approver|--admin] [--all-rooms] [--expires WHEN]
readyroom admin list [--revoked]
readyroom admin revoke AGENT | --id NUMBER
readyroom admin purge [--older-than DAYS]
readyroom admin retention ROOM DAYS
readyroom admin delete-room ROOM [--confirm ROOM]
readyroom admin alias NAME --room ROOM [--agent AGENT]
readyroom admin backup FILE
readyroom admin export ROOM [--format jsonl|md]

Says who may come in, and which rooms there are: through the Ready Room that runs, or, where none does, in the state
folder itself. After init nobody is let in without a credential.

  --agent NAME         whose token it is: letters, digits, dot, dash and underscore, at most 40
  --room, --also       its home room, and further ones
  --readonly           reads and changes nothing; --approver is a person who answers tickets; --admin also looks after
                       its rooms
  --all-rooms          every room, those to come too
  --expires WHEN       30d, 12h, or a time such as 2027-01-31T09:30:00Z
  --url ADDRESS        a Ready Room elsewhere, such as a Worker, with its READYROOM_TOKEN in the environment
  --json               what came of it, as one JSON object

add-token prints the token on standard output, alone on its line, and never again. revoke ends a token and what its holder
has open; purge forgets revoked ones. retention 0 keeps everything. delete-room wants the name twice and cannot be undone.
alias without --agent takes the name away. backup writes a new file that only you can read, and never over another.
${EXIT}`,
  stop: `readyroom stop

Ends the process that owns the queue, and waits until it has gone. Tickets are kept. Where agents are attached, one of
their processes takes over, and this says so. Exit code 0 also where none runs, 1 where it does not end.
`,
  setup: `readyroom setup CLIENT [--write] [--scope user|project] [--url ADDRESS] [--stream NAME]
                       [--agent NAME] [--room ROOM]
readyroom setup [CLIENT] --instructions
readyroom setup hook [--write] [--scope user|project] [--url ADDRESS]

Prints the entry with which a client finds Ready Room, or puts it into the client's settings. CLIENT is claude, codex,
gemini, cursor, vscode or opencode. Whatever else stands in the settings stays as it is, comments too; a file that is
changed is kept beside the new one. Twice changes nothing.

  --write              changes the settings; without it they are only read about
  --scope user         for everything you do (default)
  --scope project      for the folder that this is run in
  --url ADDRESS        of a Ready Room that runs: an HTTP entry with the Origin that its guard asks for, and with a
                       reference to READYROOM_TOKEN where that is set or the address is not of this machine
  --stream NAME        who asks; with --url it goes into the address
  --agent NAME         after \`readyroom admin init\`: for whom --write makes a token (the name of the stream or folder),
  --room ROOM          and its home room (main, or the first); a live token that is there is kept
  --inline-token       writes the token itself, from READYROOM_TOKEN, for a client that is started without it
  --instructions       prints the paragraph that teaches an agent when to ask, for CLAUDE.md or AGENTS.md

--port, --state-dir and the other settings, flags or variables, go into an entry that starts Ready Room.
`,
  doctor: `readyroom doctor [--url ADDRESS] [--quick] [--fix] [--json]

Looks at Node, the settings, the state folder, the audit log, the port, the daemon, the entries of clients and the clock,
and says what is wrong and which command mends it. Exit code 1 where something is.

  --url ADDRESS        looks at a Ready Room from outside too: its proxy, its guards, its event stream and its clock;
                       the token is that of READYROOM_TOKEN
  --quick              leaves out the chain of the audit log, which takes a while where it is long
  --fix                mends what can do no harm: modes in the state folder, a stale daemon.json, left *.tmp files
  --json               one JSON object: {"ok", "checks": [{"id", "status", "message", "fix"}]}
`,
  audit: `readyroom audit [--since TIME] [--json]
readyroom audit --verify [--head HASH] [--json]

Prints the audit log, a line an entry, oldest first; or checks the whole of it. Works while Ready Room runs and while it
does not. With --verify the exit code is 1 where the log does not hold, or where there is none.

  --since TIME         from then on: 2026-01-31, or 2026-01-31T09:30:00Z (UTC unless it says otherwise)
  --json               the entries as they are, one JSON object a line; with --verify one object that says what was found
  --verify             checks every line and the chain of their hashes, and prints the last hash, the head
  --head HASH          a head that was noted elsewhere: shows whether the log was cut or rewritten since
`,
  hook: `readyroom hook [--selfcheck] [--debug]

For the hooks UserPromptSubmit, PostToolUse, SessionStart and Stop of Claude Code: takes their JSON on standard input and
answers with JSON, or with nothing. Ends within two seconds and with exit code 0, whatever happens.

  --selfcheck          says how it is set up and whether it works; exit code 1 where it does not
  --debug              says on standard error why nothing was said (READYROOM_HOOK_DEBUG=1)

  READYROOM_URL                  where the server is (default: http://127.0.0.1:8971)
  READYROOM_AGENT_TOKEN          the agent's token; never on the command line
  READYROOM_ROOM                 the room, where the token has more than one
  READYROOM_HOOK_VERSION_CHECK   off: does not say that the server has a newer hook
  READYROOM_WATCH_EXPECTED       1: says when no watcher runs
`,
  watch: `readyroom watch [--mode MODE] [--set-mode MODE] [--selfcheck] [--debug]

Holds the stream of a room and prints one line for what an agent that waits is woken for. Each line is a turn that
somebody pays for. MODE is hook-only (nothing), mentions (what is meant for this agent; default) or all.

  --mode MODE          what to print (READYROOM_WATCH_MODE)
  --set-mode MODE      the same for a watcher that runs, and for those to come; goes before the others
  --selfcheck          says how it is set up and whether it works; exit code 1 where it does not
  --debug              says on standard error what it does (READYROOM_WATCH_DEBUG=1)

  READYROOM_WATCH_MIN_INTERVAL      in mode all, at most a line in so many seconds (default: 60; 0: a line each)
  READYROOM_WATCH_MENTION_PRIORITY  off: what is meant for this agent waits as long
  READYROOM_WATCH_SESSION           a name for the session, where several share a token (CLAUDE_CODE_SESSION_ID)
  READYROOM_WATCH_MENTIONS          further names that mean this agent, with commas between them
  READYROOM_URL, READYROOM_AGENT_TOKEN, READYROOM_ROOM as for readyroom hook
`,
  help: `readyroom help [COMMAND]

Says what there is, or how one command is used.
`
}

/** What `--help` prints, about one command or about everything. */
export const helpOn = (topic: CommandName = 'stdio'): string => TEXTS[topic]
