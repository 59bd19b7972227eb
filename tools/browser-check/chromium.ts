import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** It calls no server of its own, and needs neither a display nor a sandbox of the kernel. */
const options = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // Keeps it running after the page is loaded.
  '--remote-debugging-port=0',
]

/** Loads a page with an empty profile until the work ends. Rejects if Chromium ends first. */
export async function withPage<Result>(program: string, url: string, work: Promise<Result>): Promise<Result> {
  const profile = await mkdtemp(join(tmpdir(), 'browser-check-'))
  const child = spawn(program, [...options, `--user-data-dir=${profile}`, url], { stdio: ['ignore', 'ignore', 'pipe'] })
  let output = ''
  child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const ended = once(child, 'close').then(([code]) => {
    throw new Error(`Chromium has ended with ${code}:\n${output}`)
  })
  try {
    return await Promise.race([work, ended])
  } finally {
    child.kill()
    await ended.catch(() => undefined)
    await rm(profile, { recursive: true, force: true, maxRetries: 5 })
  }
}
