import type { ServiceDependencies } from '../../app/services.ts'
import { loadConfiguration } from '../../platform/configuration/configuration.ts'

/** A part that no route may use. */
function unused<Name extends keyof ServiceDependencies>(name: Name): ServiceDependencies[Name] {
  const part: ServiceDependencies[Name] = Object.create(null)
  return new Proxy(part, {
    get: (_, member) => {
      throw new Error(`${name}.${String(member)} is used`)
    },
  })
}

/** Dependencies of the services, for tests that supply the parts that they use. */
export const unusedParts: ServiceDependencies = {
  configuration: loadConfiguration({}),
  now: () => new Date(0),
  store: unused('store'),
  vault: unused('vault'),
  pool: unused('pool'),
  objects: unused('objects'),
  cursors: unused('cursors'),
  clientKeys: unused('clientKeys'),
  tokens: unused('tokens'),
  identityProvider: unused('identityProvider'),
  channels: unused('channels'),
  records: unused('records'),
  asOf: unused('asOf'),
  sealedLog: unused('sealedLog'),
  provenance: unused('provenance'),
  operations: unused('operations'),
  subjects: { ...unused('subjects'), servedBy: [] },
  streams: unused('streams'),
  failpoint: () => undefined,
  isCurrent: async () => true,
  positionOf: async () => undefined,
}
