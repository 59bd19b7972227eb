import { registerHooks } from 'node:module'

/*
 * A program for `loaded-modules.int.test.ts`: loads the platform, opens the traces of its environment, and prints how many
 * modules of OpenTelemetry are loaded. `prom-client` loads `@opentelemetry/api` in any case, so it does not count.
 */
let loaded = 0
registerHooks({
  load(url, context, nextLoad) {
    if (/\/node_modules\/@opentelemetry\/(?!api\/)/.test(url)) loaded += 1
    return nextLoad(url, context)
  },
})
await import('../../app/up.ts')
await import('../../app/serve.ts')
const { loadConfiguration } = await import('../../platform/configuration/configuration.ts')
const { createHealth } = await import('../../platform/observability/health.ts')
const { createMetrics } = await import('../../platform/observability/metrics.ts')
const { openTraces } = await import('../../app/traces.ts')
const configuration = loadConfiguration(process.env)
const health = createHealth({ profile: configuration.profile, roles: [] })
await openTraces(configuration, createMetrics({ health }), '')
process.stdout.write(String(loaded))
