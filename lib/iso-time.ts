const FORM = /^(\d{4}-\d\d-\d\d)(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d))?$/

/**
 * When a time in ISO 8601 is, in milliseconds since 1970; NaN where it is none. A date alone is its midnight in UTC, a time
 * says its zone. A day that its month does not have is none: `Date.parse` takes it for one of the next.
 */
export function timeOf (text: string): number {
  const day = FORM.exec(text)?.[1]
  const midnight = Date.parse(`${day}T00:00Z`)
  return day === undefined || Number.isNaN(midnight) || !new Date(midnight).toISOString().startsWith(day) ? NaN : Date.parse(text)
}
