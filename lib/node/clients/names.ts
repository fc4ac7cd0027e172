/** The clients that `setup` and `doctor` know. */
export const CLIENT_NAMES = ['claude', 'codex', 'gemini', 'cursor', 'vscode', 'opencode'] as const
export type ClientName = typeof CLIENT_NAMES[number]

/** `user`: for everything this person does. `project`: for one folder, in a file that its repository may share. */
export const SCOPES = ['user', 'project'] as const
export type Scope = typeof SCOPES[number]
