import type { FastifyRequest } from 'fastify'

/**
 * A header as it was sent. Of one that came twice Node shows the first alone where it expects a single one, so that a
 * proxy could have judged the other; here they are joined with a comma, which no reader of ours takes for a good value.
 */
export function sentHeader ({ raw: { rawHeaders } }: FastifyRequest, name: string): string | undefined {
  const values = rawHeaders.filter((_value, index) => index % 2 === 1 && rawHeaders[index - 1]!.toLowerCase() === name)
  return values.length === 0 ? undefined : values.join(', ')
}
