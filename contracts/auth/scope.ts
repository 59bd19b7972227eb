import { Type, type Static } from 'typebox'
import { Instant } from '../../platform/http/members.ts'

/** `<service>:<right>` or `<service>:<thing>:<right>`. A final `:*` covers read and write. */
export const scopePattern = '^[a-z][a-z0-9-]*(:[a-z][a-z0-9-]*){1,2}(:\\*)?$'

export const OauthScopeRecord = Type.Object(
  { scope: Type.String(), service_id: Type.String(), description: Type.String(), updated_at: Instant },
  { $id: 'OauthScopeRecord' },
)
export type OauthScopeRecord = Static<typeof OauthScopeRecord>
