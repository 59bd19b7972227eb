import { Type } from 'typebox'
import { noneOf } from '../../platform/kit/documented-rules.ts'
import { credentialMembers } from './credentials.ts'

/** A secret or an assertion (RFC 6749, 2.3), and an assertion with its type (RFC 7521, 4.2). */
const oneMethod = noneOf(
  { required: ['client_secret', 'client_assertion'] },
  { required: ['client_assertion'], not: { required: ['client_assertion_type'] } },
  { required: ['client_assertion_type'], not: { required: ['client_assertion'] } },
)

// RFC 6749, 3.2: parameters that the server does not know must be ignored; clients send `audience` and the like.
// Generators refuse forms that state this default.
const open = { additionalProperties: true, documented: { without: ['additionalProperties'], ...oneMethod } } as const

export const TokenBody = Type.Object(
  {
    grant_type: Type.String({ maxLength: 255, documented: { enum: ['client_credentials'] } }),
    ...credentialMembers,
    scope: Type.Optional(Type.String({ maxLength: 4096 })),
  },
  { $id: 'TokenBody', ...open },
)

/** RFC 7662, 2.1 and RFC 7009, 2.1. */
export const PresentedTokenBody = Type.Object(
  {
    token: Type.String(),
    token_type_hint: Type.Optional(Type.String({ description: 'Ignored: there are access tokens only' })),
    ...credentialMembers,
  },
  { $id: 'PresentedTokenBody', ...open },
)

export const TokenReply = Type.Object(
  {
    access_token: Type.String(),
    token_type: Type.Literal('Bearer'),
    expires_in: Type.Integer({ description: 'Seconds' }),
    scope: Type.String({ description: 'Granted scopes, sorted, separated by spaces' }),
  },
  { $id: 'TokenReply' },
)

/** RFC 7662, 2.2. */
export const IntrospectionReply = Type.Object(
  {
    active: Type.Boolean({ description: 'Without any other member if false' }),
    scope: Type.Optional(Type.String()),
    client_id: Type.Optional(Type.String()),
    token_type: Type.Optional(Type.Literal('Bearer')),
    exp: Type.Optional(Type.Integer()),
    iat: Type.Optional(Type.Integer()),
    sub: Type.Optional(Type.String()),
    aud: Type.Optional(Type.String()),
    iss: Type.Optional(Type.String()),
    jti: Type.Optional(Type.String()),
    org_id: Type.Optional(Type.String()),
    product_id: Type.Optional(Type.String()),
  },
  { $id: 'IntrospectionReply' },
)

/** RFC 6749, 5.2, with the members of a problem document beside them. */
export const TokenErrorReply = Type.Object(
  {
    error: Type.String(),
    error_description: Type.String(),
    type: Type.String(),
    title: Type.String(),
    status: Type.Integer(),
    detail: Type.String(),
  },
  { $id: 'TokenErrorReply' },
)

export const oauthErrors = { 400: TokenErrorReply, 401: TokenErrorReply, 415: TokenErrorReply }
