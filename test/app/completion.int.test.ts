import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { wholeProgram } from '../../app/command-line.ts'
import { completionOf } from '../../app/completion.ts'

/** What bash offers for the last word. */
async function offered(...words: readonly string[]): Promise<readonly string[]> {
  const script = completionOf(await wholeProgram(), 'bash')
  const input = `${script}\nCOMP_WORDS=(platform "$@")\nCOMP_CWORD=$#\n_platform\nprintf '%s\\n' "\${COMPREPLY[@]}"\n`
  const { stdout, stderr } = spawnSync('bash', ['--norc', '-s', '--', ...words], { input, encoding: 'utf8' })
  expect(stderr).toBe('')
  return stdout.split('\n').filter((line) => line !== '')
}

test.each([
  [['ke'], ['keys']],
  [
    ['erasures', ''],
    ['export', '--help'],
  ],
  [['keys', 'rotate', 'tok'], ['token']],
  [['steps', 'list', '--kind', 'd'], ['delivery']],
  [
    ['steps', 'list', '--org', 'steps', '--st'],
    ['--step', '--state'],
  ],
  [
    ['serve', '--role', 'p'],
    ['projector', 'processor'],
  ],
  [['audit', 'check', 'pro'], []],
])('bash completes %j', async (words, expected) => {
  expect(await offered(...words)).toEqual(expected)
})
