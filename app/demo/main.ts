import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { writeFirstCall } from './first-call.ts'
import { runMainJob } from './main-job.ts'
import { startPlatformProcess, type PlatformProcess } from './platform-process.ts'
import type { DemoImage } from './steps.ts'
import { startWebhookReceiver } from './webhook-receiver.ts'

const photographs = ['lesion-1.jpg', 'lesion-3.png'].map((name) =>
  fileURLToPath(new URL(`../../embedded/photos/${name}`, import.meta.url)),
)
const mediaTypes: Readonly<Record<string, string>> = {
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.png': 'image/png',
}

const usage = `Usage: npm run demo -- [--image PHOTO.jpg|PHOTO.png]… [--keep]

  --image  your own photograph; repeat it for several (10 at most)
  --keep   leaves the platform running, and its data folder behind, with a first program that calls it`

async function readImage(path: string): Promise<DemoImage> {
  const mimeType = mediaTypes[extname(path).toLowerCase()]
  if (mimeType === undefined) throw new Error(`${path} must be a .jpg, .jpeg or .png file`)
  const bytes = await readFile(path).catch(() => {
    throw new Error(`${path} cannot be read`)
  })
  return { mimeType, data: bytes.toString('base64') }
}

/** Runs the main job on its own platform. Returns 0 only if every step succeeded. Prints the path of kept data. */
async function demo(images: readonly DemoImage[], isKept: boolean): Promise<number> {
  const dataDir = await mkdtemp(join(tmpdir(), 'clinical-assessment-demo-'))
  const receiver = await startWebhookReceiver()
  let platform: PlatformProcess | undefined
  // A signal may reach only this process. The platform is a separate process, so we always stop it ourselves.
  const stopping = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => stopping.abort())
  try {
    const begun = performance.now()
    platform = await startPlatformProcess(dataDir, { LOG_LEVEL: 'warn' }, stopping.signal)
    console.log(line('start the platform', `ready at ${platform.credentials.base_url}`, performance.now() - begun))
    const { assessment, mail } = await runMainJob({
      credentials: platform.credentials,
      images,
      receiver,
      report: (...result) => console.log(line(...result)),
    })
    console.log(`\nThe assessment:\n${JSON.stringify(assessment, null, 2)}\n`)
    console.log(`The mail to ${mail.to}, in the mail box at ${mail.address}:\n${indented(mail.text)}\n`)
    if (!isKept)
      console.log('With --keep the platform continues to run. You can open the mail, the documentation and the health.')
    if (isKept) {
      console.log(addressesOf(platform, dataDir))
      console.log(`A first program of yours:\n  ${await writeFirstCall(platform.credentials, dataDir)}`)
      console.log('Ctrl-C stops the platform.')
      await platform.exited
    }
    return 0
  } catch (error) {
    if (stopping.signal.aborted) {
      console.error('\nThe demo was stopped.')
      return 1
    }
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

function indented(text: string): string {
  return text.trim().replaceAll(/^(?=.)/gm, '  ')
}

function addressesOf({ credentials }: PlatformProcess, dataDir: string): string {
  const { base_url, provider_url } = credentials
  return [
    'Available now:',
    `  API documentation   ${base_url}/docs`,
    `  OpenAPI document    ${base_url}/openapi.json`,
    `  health              ${base_url}/health`,
    '  mail box            the address is mailbox_url of the credentials',
    `  provider's calls    ${provider_url}/control/calls (header X-Control-Secret: control_secret of the credentials)`,
    `  credentials         ${join(dataDir, 'credentials.json')}`,
    `The data stays in ${dataDir} until you remove it.`,
  ].join('\n')
}

/** The parsed arguments, or the error in them. */
function readArguments() {
  const options = {
    image: { type: 'string', multiple: true },
    keep: { type: 'boolean' },
    help: { type: 'boolean' },
  } as const
  try {
    return parseArgs({ options }).values
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

async function main(): Promise<number> {
  const given = readArguments()
  if (typeof given === 'string' || given.help === true) {
    console.log(typeof given === 'string' ? `${given}\n\n${usage}` : usage)
    return typeof given === 'string' ? 2 : 0
  }
  try {
    return await demo(await Promise.all((given.image ?? photographs).map(readImage)), given.keep ?? false)
  } catch (error) {
    console.error(error instanceof Error ? error.message : String(error))
    return 2
  }
}

process.exitCode = await main()
