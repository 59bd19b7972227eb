import { Type } from 'typebox'
import { invalidMember, problem } from '../../platform/http/problems.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { oauthScopesProjector } from '../../projections/auth/oauth-scopes.projector.ts'
import { oauthScopes } from '../../streams/oauth-scope/aggregate.ts'
import { changed } from '../../engine/commands/command-replies.ts'
import { commandRoute } from '../../engine/commands/command-route.ts'
import type { CommandDependencies } from '../../engine/commands/dependencies.ts'
import { RegisterScopesBody } from './bodies.ts'
import { registerScopes, sortedOut } from './register-scopes.ts'
import { builtInScopes } from './scopes.ts'

const names = Type.Array(Type.String())

const RegisterScopesReply = Type.Object(
  { service_id: Type.String(), created: names, updated: names, unchanged: names },
  { $id: 'RegisterScopesReply' },
)

export function scopeWriteRoutes(app: ServiceApp, deps: CommandDependencies): void {
  commandRoute(app, deps, {
    method: 'POST',
    path: '/scopes',
    operationId: 'registerOauthScopes',
    summary: 'Register the scopes of a service',
    description:
      'Platform callers only. The same scopes again change nothing; another description replaces the old one. So an `Idempotency-Key` has no effect.',
    access: { admin: 'auth:admin', orScope: 'auth:admin' },
    tenancy: 'optional',
    body: RegisterScopesBody,
    reply: changed(RegisterScopesReply),
    readBy: [oauthScopesProjector],
    problems: ['grant-not-permitted', 'scope-owned-by-other-service'],
    handle: async ({ isPlatformWide, body, now, run }) => {
      if (!isPlatformWide) throw problem('grant-not-permitted')
      requireRegistrable(body.scopes.map(({ scope }) => scope))
      const command = { serviceId: body.service_id, scopes: body.scopes, now }
      // What each scope becomes depends on the state that the append is decided on.
      let outcome: ReturnType<typeof sortedOut> = { created: [], updated: [], unchanged: [] }
      const done = await run(oauthScopes.of(), (state) => {
        outcome = sortedOut(command.scopes, state)
        return registerScopes(command, state)
      })
      return { ...done, isReplayed: false, record: { service_id: body.service_id, ...outcome } }
    },
  })
}

function requireRegistrable(scopes: readonly string[]): void {
  for (const [place, scope] of scopes.entries()) {
    const pointer = `/scopes/${place}/scope`
    if (builtInScopes.has(scope)) throw invalidMember(pointer, 'is a built-in scope', 'built-in-scope')
    if (scopes.indexOf(scope) !== place) throw invalidMember(pointer, 'repeats another scope', 'duplicate')
  }
}
