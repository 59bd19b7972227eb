import Fastify from 'fastify'
import { expect, it } from 'vitest'
import { servicesOf } from '../../app/services.ts'
import { createSchemas } from '../../platform/http/schemas.ts'
import { mountService } from '../../platform/http/service.ts'
import { unusedParts } from '../support/unused-parts.ts'

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
  for (const service of servicesOf(unusedParts)) await mountService(app, service, schemas)
  await app.ready()
  for (const place of ['body of POST', 'querystring of GET', 'params of GET'])
    expect([...compiled].filter((one) => one.startsWith(place)).length).toBeGreaterThan(50)
  await app.close()
})
