import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { runMainJob, type DemoImage } from './main-job.ts'
import { startPlatformProcess, type PlatformProcess } from './platform-process.ts'
import { startWebhookReceiver } from './webhook-receiver.ts'

const photographs = ['lesion-1.jpg', 'lesion-3.png'].map((name) =>
  fileURLToPath(new URL(`../../embedded/photos/${name}`, import.meta.url)),
)
const mediaTypes: Readonly<Record<string, string>> = { '.jpg': 'image/jpeg', '.jpeg': 'image/jpeg', '.png': 'image/png' }

async function readImage(path: string): Promise<DemoImage> {
  const mimeType = mediaTypes[extname(path).toLowerCase()]
  if (mimeType === undefined) throw new Error(`${path} must be a .jpg, .jpeg or .png file`)
  return { mimeType, data: (await readFile(path)).toString('base64') }
}

/** Runs the main job on a platform of its own; 0 only when every step held. */
async function demo(paths: readonly string[], isKept: boolean): Promise<number> {
  const images = await Promise.all(paths.map(readImage))
  const dataDir = await mkdtemp(join(tmpdir(), 'clinical-assessment-demo-'))
  const receiver = await startWebhookReceiver()
  let platform: PlatformProcess | undefined
  try {
    const begun = performance.now()
    platform = await startPlatformProcess(dataDir, { LOG_LEVEL: 'warn' })
    console.log(line('start the platform', `ready at ${platform.credentials.base_url}`, performance.now() - begun))
    const result = await runMainJob({ credentials: platform.credentials, images, receiver, report: (...told) => console.log(line(...told)) })
    console.log(`\nThe assessment:\n${JSON.stringify(result, null, 2)}\n`)
    console.log(addressesOf(platform, dataDir, isKept))
    if (isKept) {
      console.log('Ctrl-C stops the platform.')
      process.once('SIGINT', () => undefined)
      process.once('SIGTERM', () => void platform?.stop())
      await platform.exited
    }
    return 0
  } catch (error) {
    console.error(`\nThe demo failed: ${error instanceof Error ? error.message : String(error)}`)
    if (platform !== undefined) console.error(platform.output())
    return 1
  } finally {
    await platform?.stop()
    await receiver.close()
    if (!isKept) await rm(dataDir, { recursive: true, force: true })
  }
}

function line(what: string, result: string, milliseconds: number): string {
  return `${what.padEnd(42)} ${result.padEnd(52)} ${milliseconds.toFixed(0).padStart(6)} ms`
}

function addressesOf({ credentials }: PlatformProcess, dataDir: string, isKept: boolean): string {
  const { base_url, provider_url } = credentials
  const where = isKept ? 'To look at' : 'With --keep the platform goes on, and you can look at'
  return [
    `${where}:`,
    `  API documentation   ${base_url}/docs`,
    `  OpenAPI document    ${base_url}/openapi.json`,
    `  health              ${base_url}/health`,
    `  provider's calls    ${provider_url}/control/calls`,
    `  credentials         ${join(dataDir, 'credentials.json')}`,
  ].join('\n')
}

const { values } = parseArgs({ options: { image: { type: 'string', multiple: true }, keep: { type: 'boolean', default: false } } })
process.exitCode = await demo(values.image ?? photographs, values.keep)
