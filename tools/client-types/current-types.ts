import { servicesOf } from '../../app/services.ts'
import { apiTypes } from '../../packages/client/generate.ts'
import { startApplication } from '../../test/platform/http/test-application.ts'
import { unusedParts } from '../../test/support/unused-parts.ts'

/** The types of the client as the program's OpenAPI document has them now. */
export async function currentTypes(): Promise<string> {
  const { app } = await startApplication({ services: servicesOf(unusedParts) })
  try {
    return await apiTypes((await app.inject('/openapi.json')).json())
  } finally {
    await app.close()
  }
}
