import { Ajv } from 'ajv'
import Fastify from 'fastify'
import { expect, it } from 'vitest'
import { servicesOf } from '../../app/services.ts'
import { longestParameter } from '../../platform/http/application.ts'
import { createSchemas } from '../../platform/http/schemas.ts'
import { mountService } from '../../platform/http/service.ts'
import { unusedParts } from '../support/unused-parts.ts'

it('every schema of a request is valid, although a process compiles it at its first use', async () => {
  const schemas = createSchemas()
  const app = Fastify({ schemaController: { bucket: () => schemas.bucket } })
  const compiled = new Set<string>()
  app.setSerializerCompiler(() => JSON.stringify)
  // The validators that a process compiles do not look whether a schema is one.
  const draft = new Ajv({ strict: false })
  const expectSchema = (schema: unknown) =>
    expect([draft.validateSchema(Object(schema) as object), draft.errors]).toEqual([true, null])
  app.setValidatorCompiler((part) => {
    expectSchema(part.schema)
    const validate = schemas.compileValidator(part)
    // No body, query or path is null. The refusal needs the validator that finds all errors.
    void validate(null)
    compiled.add(`${part.httpPart} of ${part.method} ${part.url}`)
    return validate
  })
  for (const service of servicesOf(unusedParts)) await mountService(app, service, schemas)
  await app.ready()
  for (const schema of Object.values(schemas.bucket.getSchemas())) expectSchema(schema)
  for (const place of ['body of POST', 'querystring of GET', 'params of GET'])
    expect([...compiled].filter((one) => one.startsWith(place)).length).toBeGreaterThan(50)
  await app.close()
})

it('no route allows a longer parameter in its path than the router finds', async () => {
  const schemas = createSchemas()
  const app = Fastify({ schemaController: { bucket: () => schemas.bucket } })
  app.setSerializerCompiler(() => JSON.stringify)
  app.setValidatorCompiler((part) => schemas.compileValidator(part))
  const lengths: number[] = []
  app.addHook('onRoute', ({ schema }) => {
    const { properties = {} }: { properties?: Record<string, { maxLength?: number }> } = Object(schema?.params)
    lengths.push(...Object.values(properties).flatMap(({ maxLength }) => (maxLength === undefined ? [] : [maxLength])))
  })
  for (const service of servicesOf(unusedParts)) await mountService(app, service, schemas)
  await app.close()
  expect(new Set(lengths)).toContain(255)
  // The schema counts characters, the router UTF-16 units.
  expect(Math.max(...lengths) * 2).toBeLessThanOrEqual(longestParameter)
})
