import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { problem, problemType, problems, type ProblemDefinition } from '../problems.ts'

const catalogue = new Map<string, ProblemDefinition>(Object.entries(problems))

/** `/problems/{code}`: what each problem type means, as JSON or for a browser. */
export function addProblemPages(app: FastifyInstance): void {
  const schema = { tags: ['problems'], summary: 'What a problem type means', operationId: 'getProblem', security: [], params: Type.Object({ code: Type.String() }) }
  app.get<{ Params: { code: string } }>('/problems/:code', { schema, config: { access: 'public' } }, async (request, reply) => {
    const { code } = request.params
    const definition = catalogue.get(code)
    if (definition === undefined) throw problem('not-found')
    reply.header('cache-control', 'public, max-age=3600')
    reply.header('vary', 'accept')
    if (request.headers.accept?.includes('text/html') !== true) return { code, type: `${typeBase}${code}`, ...definition }
    return reply.type('text/html; charset=utf-8').send(page(code, definition))
  })
}

const typeBase = problemType('conflict').slice(0, -'conflict'.length)

function page(code: string, { status, title, retriable, doc }: ProblemDefinition): string {
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>${escape(title)}</title>
<h1>${escape(title)}</h1><p><code>${escape(code)}</code>, status ${status}, ${retriable ? 'may succeed when repeated' : 'does not succeed when repeated unchanged'}.</p>
<p>${escape(doc)}</p></html>`
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
