import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const program = fileURLToPath(new URL('report-open-telemetry.ts', import.meta.url))

async function loadedWith(env: Readonly<Record<string, string>>): Promise<number> {
  const { PATH, NODE_COMPILE_CACHE } = process.env
  const { stdout } = await promisify(execFile)(process.execPath, [program], {
    env: { PATH, NODE_COMPILE_CACHE, ...env },
    timeout: 60_000,
  })
  return Number(stdout)
}

test('OpenTelemetry is loaded if there is a collector, and only then', async () => {
  expect(await loadedWith({ OTEL_SERVICE_NAME: 'clinic', OTEL_EXPORTER_OTLP_ENDPOINT: '' })).toBe(0)
  expect(await loadedWith({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' })).toBeGreaterThan(10)
})
