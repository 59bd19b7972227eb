import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { startTestPlatform } from '../../support/platform.ts'

test('the error for a taken port names the port and its setting', async () => {
  const occupant = createServer()
  await new Promise<void>((resolve) => {
    occupant.listen(0, '127.0.0.1', resolve)
  })
  try {
    const { port } = occupant.address() as AddressInfo
    const starting = startTestPlatform({ env: { PORT: String(port), HOST: '127.0.0.1' } })
    const message = await starting.then(
      () => 'it started',
      (error: unknown) => String(error),
    )
    expect(message).toContain(`platform: port ${port} of 127.0.0.1 is taken: set PORT to another one\n`)
    expect(message).not.toMatch(/\n\s+at /)
  } finally {
    await new Promise((resolve) => occupant.close(resolve))
  }
})
