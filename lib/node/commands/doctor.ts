import type { Check, DoctorReport } from '../../../schemas/doctor'
import { type Output, plain } from '../output'

export interface DoctorOptions {
  examine: () => Promise<DoctorReport>
  /** Mends first what can be; unset leaves everything as it is. */
  mend?: (() => Promise<string[]>) | undefined
  json: boolean
  out: Output
  /** For what is not part of the report. */
  note: (message: string) => void
}

/** Says what is wrong, and what mends it. Exit code 1 where something fails. */
export async function doctor ({ examine, mend, json, out, note }: DoctorOptions): Promise<number> {
  for (const what of await mend?.() ?? []) note(what)
  const report = await examine()
  await out.write(json ? `${JSON.stringify(report)}\n` : readable(report))
  return report.ok ? 0 : 1
}

function readable ({ checks }: DoctorReport): string {
  const width = Math.max(...checks.map(({ id }) => id.length))
  const lines = checks.map(({ id, status, message, fix }: Check) =>
    `${(status === 'ok' ? 'ok' : status.toUpperCase()).padEnd(4)}  ${id.padEnd(width)}  ${plain(message, 2_000)}\n` +
    (fix === undefined ? '' : `${' '.repeat(8 + width)}mend: ${plain(fix, 2_000)}\n`))
  const of = (wanted: Check['status']): number => checks.filter(({ status }) => status === wanted).length
  return `${lines.join('')}\n${of('fail')} failing, ${of('warn')} to look at, ${of('ok')} well.\n`
}
