import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { parseEnv, promisify } from 'node:util'
import { expect, test } from 'vitest'
import { textAt } from '../../../app/demo/members.ts'
import { writeFirstCall } from '../../../app/demo/first-call.ts'
import { createConsentTerms } from '../../support/main-job.ts'
import { joinSharedPlatform } from '../../support/shared-platform.ts'

interface Answered {
  readonly status: number
  readonly body: unknown
}

/** Sends the requests of a file of the REST Client. Returns the answers by their names. */
async function sendAll(folder: string): Promise<ReadonlyMap<string, Answered>> {
  const settings = parseEnv(await readFile(join(folder, '.env'), 'utf8'))
  const answers = new Map<string, Answered>()
  const valueOf = (name: string): string => {
    if (name === 'url') return settings['PLATFORM_URL'] ?? ''
    if (name.startsWith('$dotenv ')) return settings[name.slice('$dotenv '.length)] ?? ''
    const [request = '', path = ''] = name.split('.response.body.$.')
    const members = path.match(/\w+/g) ?? []
    return textAt(
      answers.get(request)?.body,
      ...members.map((member) => (/^\d+$/.test(member) ? Number(member) : member)),
    )
  }
  const text = await readFile(join(folder, 'main-job.http'), 'utf8')
  for (const part of text.split(/^### .*\n/m).slice(1)) {
    const [, name = '', given = ''] = /^# @name (\w+)\n(.*)$/s.exec(part) ?? []
    const request = given.replaceAll(/\{\{(.*?)\}\}/g, (_, value: string) => valueOf(value)).trim()
    const [head = '', ...paragraphs] = request.split('\n\n')
    const [first = '', ...lines] = head.split('\n')
    const [method = '', url = ''] = first.split(' ')
    const headers = new Headers()
    for (const line of lines) headers.set(line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1))
    const body = paragraphs.join('\n\n')
    const sent = body.startsWith('< ') ? await readFile(join(folder, body.slice(2))) : body
    const response = await fetch(url, { method, headers, ...(sent.length === 0 ? {} : { body: sent }) })
    const answer = await response.text()
    answers.set(name, { status: response.status, body: answer === '' ? undefined : JSON.parse(answer) })
  }
  return answers
}

test('the file of requests does the main job', async () => {
  const platform = await joinSharedPlatform()
  const folder = await mkdtemp(join(tmpdir(), 'first-call-'))
  try {
    await createConsentTerms(await platform.connect(), platform.process.credentials.org_id)
    await writeFirstCall(platform.process.credentials, folder)
    const answers = await sendAll(join(folder, 'first-call'))
    expect([...answers].map(([name, { status }]) => `${name} ${status}`)).toEqual([
      'token 200',
      'types 200',
      'texts 200',
      'patient 201',
      'consent 201',
      'assessment 202',
      'upload 200',
      'submit 200',
      'end 200',
    ])
    expect(answers.get('end')?.body).toMatchObject({ status: 'completed' })
  } finally {
    await platform.stop()
    await rm(folder, { recursive: true, force: true })
  }
})

test('the printed command runs a first program of at most 20 lines', async () => {
  const platform = await joinSharedPlatform()
  const folder = await mkdtemp(join(tmpdir(), 'first-call-'))
  try {
    const command = await writeFirstCall(platform.process.credentials, folder)
    // npm runs it with the installed Node.js, a newcomer with the one of the path.
    const env = { ...process.env, PATH: [dirname(process.execPath), process.env['PATH']].join(delimiter) }
    const { stdout } = await promisify(execFile)('bash', ['-c', command], { cwd: folder, env })
    expect(stdout).toMatch(/^registered (\S{36})\nevent clinical\.patient\.registered \1\n$/)
    const program = await readFile(join(folder, 'first-call/first-call.mjs'), 'utf8')
    expect(program.trimEnd().split('\n').length).toBeLessThanOrEqual(20)
    expect((await stat(join(folder, 'first-call/.env'))).mode & 0o077).toBe(0)
  } finally {
    await platform.stop()
    await rm(folder, { recursive: true, force: true })
  }
})
