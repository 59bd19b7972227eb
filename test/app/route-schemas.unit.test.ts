import Fastify from 'fastify'
import { expect, it } from 'vitest'
import { servicesOf, type ServiceDependencies } from '../../app/services.ts'
import { loadConfiguration } from '../../platform/configuration/configuration.ts'
import { createSchemas } from '../../platform/http/schemas.ts'
import { mountService } from '../../platform/http/service.ts'

/** A part that no route may use before a request. */
function unused<Name extends keyof ServiceDependencies>(name: Name): ServiceDependencies[Name] {
  const part: ServiceDependencies[Name] = Object.create(null)
  return new Proxy(part, {
    get: (_, member) => {
      throw new Error(`${name}.${String(member)} is used while the routes are added`)
    },
  })
}

const deps: ServiceDependencies = {
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
  failpoint: () => undefined,
  isCurrent: async () => true,
  positionOf: async () => undefined,
}

it('every schema of a request is valid, although a process compiles it at its first use', async () => {
  const schemas = createSchemas()
  const app = Fastify({ schemaController: { bucket: () => schemas.bucket } })
  const compiled = new Set<string>()
  app.setSerializerCompiler(() => JSON.stringify)
  app.setValidatorCompiler((part) => {
    const validate = schemas.compileValidator(part)
    // No body, query or path is null. The refusal needs the validator that finds all errors.
    void validate(null)
    compiled.add(`${part.httpPart} of ${part.method} ${part.url}`)
    return validate
  })
  for (const service of servicesOf(deps)) await mountService(app, service, schemas)
  await app.ready()
  for (const place of ['body of POST', 'querystring of GET', 'params of GET'])
    expect([...compiled].filter((one) => one.startsWith(place)).length).toBeGreaterThan(50)
  await app.close()
})
