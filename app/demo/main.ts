import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readDemoArguments } from './arguments.ts'
import { writeFirstCall } from './first-call.ts'
import { runMainJob } from './main-job.ts'
import { startPlatformProcess, type PlatformProcess } from './platform-process.ts'
import type { DemoImage } from './steps.ts'
import { startWebhookReceiver } from './webhook-receiver.ts'

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

const given = await readDemoArguments(process.argv.slice(2))
if ('images' in given) process.exitCode = await demo(given.images, given.isKept)
else {
  if ('out' in given) console.log(given.out)
  else console.error(given.err)
  process.exitCode = given.code
}
