import { v5 } from 'uuid'
import { expect, it } from 'vitest'
import { definitionIdOf } from '../../../commands/workflows/definitions.ts'
import { isUuid } from '../../../platform/http/formats.ts'
import { tenantOfFact } from '../../../platform/kit/tenants.ts'

const idOf = (orgId: string, name: string) => definitionIdOf(tenantOfFact(orgId), name)

it('the id of a definition follows from its name and any organisation', () => {
  // Its version and variant are none of RFC 9562.
  const odd = '11111111-1111-1111-1111-111111111111'
  const usual = '018f0000-0000-7000-8000-00000000000a'
  const made = [odd, usual].flatMap((orgId) => ['Lesion', 'Changed lesion'].map((name) => idOf(orgId, name)))
  expect(made.every(isUuid)).toBe(true)
  expect(new Set(made).size).toBe(4)
})

it('the id of a definition is the same as before for an organisation of a usual id', () => {
  const orgId = '018f0000-0000-7000-8000-00000000000a'
  expect(idOf(orgId, 'lesion')).toBe(v5('workflow-definition\0lesion', orgId))
})
