import { Type } from 'typebox'
import { answers } from '../../platform/http/answers.ts'
import { Nullable } from '../../platform/http/members.ts'
import { namedOrg, orgQueryOf } from '../../platform/http/parameters.ts'
import { problem } from '../../platform/http/problems.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { tenantIfNamed } from '../../platform/http/tenancy.ts'
import type { CommandDependencies } from '../../engine/commands/dependencies.ts'
import { findTemplate } from './find-template.ts'
import { RenderPreviewBody, variantMembers, variantOf } from './template-bodies.ts'
import { compiledOrRefused, renderedOrMissing } from './template-problems.ts'
import { phiViolations } from './phi-validation.ts'

const Names = Type.Array(Type.String())

const RenderPreviewReply = Type.Object(
  {
    subject: Nullable(Type.String()),
    body: Nullable(Type.String(), { description: 'Null if a variable is missing' }),
    text: Nullable(Type.String(), { description: 'The plain part of a mail' }),
    phiValidation: Type.Object({
      ok: Type.Boolean(),
      violations: Type.Array(
        Type.Object({
          rule: Type.Enum(['phi-on-chat', 'phi-in-subject', 'unknown-variable-in-phi']),
          path: Type.String(),
          detail: Type.String(),
        }),
      ),
    }),
    missingVariables: Names,
    unusedVariables: Names,
  },
  { $id: 'RenderPreviewReply' },
)

const access = { admin: 'notifications:admin', orScope: 'notifications:admin' } as const

/** Renders a template with sample variables. Sends and records nothing. */
export function previewRoute(app: ServiceApp, { store }: Pick<CommandDependencies, 'store'>): void {
  app.post(
    '/admin/templates/:code/render-preview',
    {
      schema: {
        operationId: 'previewNotificationTemplate',
        summary: 'Render a template with sample variables',
        description:
          'Nothing is sent. Without `template` in the body, it is the template that a message of the organisation would use. A missing variable is listed, and subject and body are null.',
        params: Type.Object({ code: Type.String({ minLength: 1, maxLength: 255 }) }),
        querystring: Type.Object({ ...variantMembers, ...orgQueryOf('optional') }, { additionalProperties: false }),
        body: RenderPreviewBody,
        response: answers({ 200: RenderPreviewReply }, ['not-found', 'template-render-failed']),
      },
      config: { access, changesNothing: true },
    },
    async ({ params, query, body, caller }) => {
      const orgId = tenantIfNamed(caller, access, namedOrg(query))
      const { template: draft, variables } = body
      const template =
        draft === undefined
          ? await findTemplate(store, { ...variantOf(query, '/locale'), code: params.code, orgId })
          : { ...draft, ...variantOf(draft, '/template/locale'), subject: draft.subject ?? null }
      if (template === undefined) throw problem('not-found')
      const compiled = await compiledOrRefused(template, draft === undefined ? '' : '/template')
      const { rendered, missing } = await renderedOrMissing(compiled, variables)
      const used = new Set(compiled.variables)
      const violations = phiViolations(template, compiled, variables)
      return {
        subject: rendered?.subject ?? null,
        body: rendered?.html ?? rendered?.text ?? null,
        text: rendered?.html ? rendered.text : null,
        phiValidation: { ok: violations.length === 0, violations: [...violations] },
        missingVariables: [...missing],
        unusedVariables: Object.keys(variables).filter((name) => !used.has(name)),
      }
    },
  )
}
