import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { json, scriptedServer } from './scripted-server.ts'

const folder = fileURLToPath(new URL('..', import.meta.url))
const root = join(folder, '../..')
const run = promisify(execFile)

const program = `import { createClient, Problem, verifyWebhook } from 'clinical-assessment-client'
const client = createClient({ baseUrl: process.argv[2] ?? '', clientId: 'a', clientSecret: 'b' })
const { data } = await client.request('GET', '/v1/clinical-api/patients/{id}', { params: { id: 'x' } })
console.log(data.given_name, typeof verifyWebhook, Problem.name)
`

it('runs from an empty folder as plain JavaScript, with types', async () => {
  const empty = await mkdtemp(join(tmpdir(), 'packed-client-'))
  try {
    const packed = await run('npm', ['pack', '-w', 'packages/client', '--json', '--pack-destination', empty], {
      cwd: root,
    })
    const [file = ''] = (await readdir(empty)).filter((name) => name.endsWith('.tgz'))
    expect(packed.stdout).toContain(file)
    const installed = join(empty, 'node_modules/clinical-assessment-client')
    await mkdir(installed, { recursive: true })
    await run('tar', ['-xzf', file, '--strip-components=1', '-C', installed], { cwd: empty })
    expect((await readdir(installed)).toSorted()).toEqual(['README.md', 'dist', 'package.json'])
    await writeFile(join(empty, 'package.json'), '{"type":"module"}')
    await writeFile(join(empty, 'program.mjs'), program)
    await using server = await scriptedServer([json(200, { given_name: 'Ada' })])
    expect((await run(process.execPath, ['program.mjs', server.url], { cwd: empty })).stdout).toBe(
      'Ada function Problem\n',
    )

    await writeFile(join(empty, 'program.ts'), `declare const process: { argv: string[] }\n${program}`)
    await writeFile(
      join(empty, 'wrong.ts'),
      program.replace('patients/{id}', 'patient/{id}').replace('process.argv[2]', "''"),
    )
    const options = [
      '--noEmit',
      '--strict',
      '--module',
      'nodenext',
      '--target',
      'es2022',
      '--lib',
      'es2023,dom',
      '--types',
      '',
    ]
    const tsc = join(root, 'node_modules/typescript/bin/tsc')
    // The checker reads thousands of types. One run checks both programs.
    const checked = run(process.execPath, [tsc, ...options, 'program.ts', 'wrong.ts'], { cwd: empty })
    const { stdout } = await checked.then(
      () => ({ stdout: '' }),
      (error: { readonly stdout: string }) => error,
    )
    // The checker indents the lines that explain an error.
    const errors = stdout.split('\n').filter((line) => line !== '' && !line.startsWith(' '))
    expect(errors.filter((line) => !line.startsWith('wrong.ts('))).toEqual([])
    expect(errors.join('\n')).toContain('\'"/v1/clinical-api/patient/{id}"\'')
  } finally {
    await rm(empty, { recursive: true, force: true })
  }
})

it('has no dependencies and at most 400 lines', async () => {
  const { dependencies } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as { dependencies?: object }
  expect(dependencies).toBeUndefined()
  let lines = 0
  for (const name of ['client', 'feed', 'problem', 'sending', 'tokens', 'webhooks']) {
    const text = await readFile(join(folder, `${name}.ts`), 'utf8')
    for (const [, imported] of text.matchAll(/from '([^']+)'/g)) expect(imported).toMatch(/^\.\/[a-z]+\.ts$/)
    lines += text.split('\n').filter((line) => line.trim() !== '').length
  }
  expect(lines).toBeLessThanOrEqual(400)
})
