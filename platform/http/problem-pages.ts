import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { problem, problemType, problems, type ProblemDefinition } from './problems.ts'
import { answers, serverProblems } from './answers.ts'
import type { Schemas } from './schemas.ts'

const ProblemDescription = Type.Object(
  {
    code: Type.String(),
    type: Type.String({ format: 'uri' }),
    status: Type.Integer(),
    title: Type.String(),
    retriable: Type.Boolean({ description: 'The same request may succeed later without a change' }),
    doc: Type.String({ description: 'When it happens and what to do' }),
  },
  { $id: 'ProblemDescription' },
)

const catalogue = new Map<string, ProblemDefinition>(Object.entries(problems))

/** `/problems/{code}`: the meaning of each problem type, as JSON or as a page for browsers. */
export function addProblemPages(app: FastifyInstance, schemas: Schemas): void {
  const described = {
    description: 'As JSON; as a page if the caller accepts HTML',
    headers: { Vary: { type: 'string', description: 'accept' } },
    content: { 'application/json': { schema: ProblemDescription }, 'text/html': { schema: Type.String() } },
  }
  const response = answers({ 200: described }, ['not-found', 'internal-error', ...serverProblems])
  const params = Type.Object({ code: Type.String() })
  const schema = schemas.hoist({
    tags: ['problems'],
    summary: 'Meaning of a problem type',
    operationId: 'getProblem',
    security: [],
    params,
    response,
  })
  app.get<{ Params: { code: string } }>(
    '/problems/:code',
    { schema, config: { access: 'public' } },
    async (request, reply) => {
      const { code } = request.params
      const definition = catalogue.get(code)
      if (definition === undefined) throw problem('not-found')
      reply.header('cache-control', 'public, max-age=3600')
      reply.header('vary', 'accept')
      if (request.headers.accept?.includes('text/html') !== true)
        return { code, type: `${typeBase}${code}`, ...definition }
      return reply.type('text/html; charset=utf-8').send(page(code, definition))
    },
  )
}

const typeBase = problemType('conflict').slice(0, -'conflict'.length)

function page(code: string, { status, title, retriable, doc }: ProblemDefinition): string {
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>${escapeHtml(title)}</title>
<h1>${escapeHtml(title)}</h1><p><code>${escapeHtml(code)}</code>, status ${status}, ${retriable ? 'may succeed when repeated' : 'does not succeed when repeated unchanged'}.</p>
<p>${escapeHtml(doc)}</p></html>`
}

export function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
