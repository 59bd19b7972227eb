import { spawn } from 'node:child_process'
import { PROGRAM_ENVIRONMENT } from './unprivileged.ts'

/**
 * Ends PostgreSQL when this process is gone, however it went: a shell waits for the end of its input, which the kernel
 * closes with us, and asks the server for a fast shutdown. Returns how to call that off once the server has ended. A next
 * start still ends what the shell could not (`stale-postmaster.ts`).
 */
export function endWithThisProcess(postmaster: number): () => void {
  const shell = spawn('/bin/sh', ['-c', 'read -r _; kill -INT "$1"', 'sh', String(postmaster)], {
    // In a group of its own, so that what kills ours leaves it.
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    env: PROGRAM_ENVIRONMENT,
  })
  shell.on('error', () => undefined)
  shell.stdin.on('error', () => undefined)
  return () => void shell.kill('SIGKILL')
}
