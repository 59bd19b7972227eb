import { randomBytes } from 'node:crypto'
import { actorContext } from '../../../app/demo/members.ts'
import { unsubscribeUrl } from '../../../commands/notifications/unsubscribe-links.ts'
import { signReceipt } from '../../../contracts/consent/receipt.ts'
import { toConsentDecisionRecord } from '../../../contracts/consent/record.ts'
import { createCursors } from '../../../platform/http/cursors.ts'
import { tenantOfFact } from '../../../platform/kit/tenants.ts'
import { signingKeyOf } from '../../../platform/vault/signing-keys.ts'
import { adminSecret } from '../../platform/http/test-application.ts'
import { consentFact } from '../../streams/facts.ts'
import { baseUrl } from './auth-api.ts'
import type { Vector } from './member-vectors.ts'
import { foreign, forge, otherBits, part } from './token-maker.ts'

const forms: readonly Vector[] = [
  ['nothing', () => ''],
  ['one part', (m) => m.parts().head],
  ['two parts', (m) => `${m.parts().head}.${m.parts().payload}`],
  ['four parts', (m) => `${m.ours()}.${m.parts().signature}`],
  ['five parts (JWE)', (m) => `${part({ alg: 'dir', enc: 'A256GCM', kid: m.key.kid })}...${m.parts().payload}.AA`],
  [
    'the JSON form of JWS',
    (m) => {
      const { head, payload, signature } = m.parts()
      return JSON.stringify({ payload, protected: head, signature })
    },
  ],
  ['no signature', (m) => m.ours().replace(/[^.]+$/, '')],
  ['half a signature', (m) => m.ours().slice(0, -40)],
  ['the signature of another token', (m) => `${m.ours().replace(/[^.]+$/, '')}${m.parts().signature}`],
  [
    'other claims under a signature',
    (m) => {
      const { head, signature } = m.parts()
      return `${head}.${part(m.claims({ scope: 'auth:admin' }))}.${signature}`
    },
  ],
  ['a header that is no JSON', (m) => m.ours({ header: '{alg' })],
  ['a header that is a list', (m) => m.ours({ header: '["EdDSA"]' })],
  ['claims that are no JSON', (m) => m.ours({ claims: 'client' })],
  ['claims that are a list', (m) => m.ours({ claims: '[]' })],
  ['claims that are null', (m) => m.ours({ claims: 'null' })],
  ['a token inside a token', (m) => m.ours({ header: m.header({ cty: 'JWT' }), claims: m.ours() })],
  ['padding', (m) => `${m.ours()}==`],
  ['other last bits of the same signature', (m) => otherBits(m.ours())],
  ['characters outside of base64url', (m) => m.ours().replace('.', '.+/')],
  ['a space inside', (m) => m.ours().replace('.', ' .')],
  ['a header of 8 KiB', (m) => m.withHeader({ padding: 'x'.repeat(8_192) })],
  ['claims of 8 KiB', (m) => m.withClaims({ padding: 'x'.repeat(8_192) })],
  ['a megabyte', (m) => m.withHeader({ kid: 'x'.repeat(1_048_576) })],
]

const otherKinds: readonly Vector[] = [
  [
    'a consent receipt',
    async (m) => {
      const record = toConsentDecisionRecord(consentFact('ConsentRecorded').data)
      return signReceipt(m.world.vault, { issuer: `${baseUrl}/v1/auth`, record, locale: 'en-GB', now: m.world.now() })
    },
  ],
  [
    'a cursor',
    async (m) => {
      const cursors = createCursors({ key: await m.world.vault.secret('cursor', 'current'), now: m.world.now })
      return cursors.seal({ list: 'cases', orgId: tenantOfFact(m.world.orgId), sort: 'id', filters: {} }, ['a'])
    },
  ],
  [
    'an unsubscribe token',
    async (m) => {
      const user = { userId: m.world.orgId, orgId: m.world.orgId, category: 'marketing', channel: 'email' } as const
      return ((await unsubscribeUrl(m.world, user)) ?? '').split('=').at(-1) ?? ''
    },
  ],
  ['an actor context, unsigned', (m) => actorContext(m.world.orgId, ['users:admin'])],
  [
    'an actor context, signed',
    async (m) => {
      const { kid, privateKey } = await m.world.vault.signingKey('actor-context')
      return m.ours({ header: m.header({ typ: 'actor-context+jwt', kid }), key: privateKey })
    },
  ],
  [
    'a client assertion',
    (m) => {
      const own = { iss: m.client.clientId, sub: m.client.clientId, aud: `${baseUrl}/v1/auth/oauth/token` }
      return forge({
        header: { alg: 'RS384', typ: 'JWT', kid: 'mine' },
        claims: { ...m.claims(), ...own },
        key: foreign('rsa'),
        digest: 'sha384',
      })
    },
  ],
  ['a client secret', (m) => m.client.secret],
  ['a client id', (m) => m.client.clientId],
  ['the administrator secret', () => adminSecret],
  [
    'a webhook secret',
    async (m) => `whsec_${Buffer.from(await m.world.vault.secret('webhook', 'one')).toString('base64')}`,
  ],
  [
    'a webhook signature',
    async (m) => {
      const signing = await m.world.vault.secret('webhook', 'one')
      return m.ours({ header: m.header({ alg: 'HS256' }), key: signing })
    },
  ],
  [
    'the key of a webhook',
    async (m) => {
      const { kid, privateKey } = await signingKeyOf(await m.world.vault.secret('webhook-signing', 'one'))
      return m.ours({ header: m.header({ kid }), key: privateKey })
    },
  ],
  ['random bytes', () => randomBytes(64).toString('base64url')],
]

export const kindVectors: readonly Vector[] = [...forms, ...otherKinds]
