import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { joinSharedPlatform } from '../support/shared-platform.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** The first block of commands of a tour. */
async function commandsOf(tour: string): Promise<string> {
  const text = await readFile(join(root, 'docs/tour', tour), 'utf8')
  return /```sh\n(.*?)```/s.exec(text)?.[1] ?? ''
}

test('the tour of events runs as it stands', async () => {
  const platform = await joinSharedPlatform()
  const folder = await mkdtemp(join(tmpdir(), 'tour-'))
  try {
    const credentials = join(folder, 'credentials.json')
    await writeFile(credentials, JSON.stringify(platform.process.credentials))
    const [preparation = ''] = (await commandsOf('main-job.md')).split('# 2.', 1)
    const patient = `api "$BASE/v1/clinical-api/patients" -d '{"given_name":"A","family_name":"B","dob":"1980-02-29"}' > /dev/null`
    const published = `api -H 'Prefer: wait=25' "$BASE/v1/events/clinical?limit=1" > /dev/null`
    // Another test packs the client and installs it.
    const commands = (await commandsOf('events.md'))
      .replace(/^npm pack .*$/m, `ln -s ${root}node_modules "$WORK/node_modules"`)
      .replace("'clinical-assessment-client'", "'clinical-assessment-client/source'")
    const script = `${[preparation, patient, published, commands].join('\n')}\nrm -r "$WORK"`.replaceAll(
      '.platform/credentials.json',
      credentials,
    )
    const { stdout, stderr } = await promisify(execFile)('bash', ['-c', script], { cwd: root })
    expect(stderr).toBe('')
    const instant = String.raw`\d{4}-\d\d-\d\dT[\d:.]+Z`
    expect(stdout.replaceAll(': no event\n\n', '')).toMatch(
      new RegExp(
        [
          `^${instant} clinical\\.patient\\.registered`,
          '(clinical\\.patient\\.registered [0-9a-f-]{36})',
          'retry: 2000',
          'id: \\S+',
          '',
          'id: \\S+',
          'data: {.*"event_type":"clinical\\.patient\\.registered".*}',
          '',
          '\\1',
          'continue after \\S{12}…',
          '$',
        ].join('\n'),
      ),
    )
  } finally {
    await platform.stop()
    await rm(folder, { recursive: true, force: true })
  }
})

test('the tour of audit runs as it stands, but for the check of the log', async () => {
  const platform = await joinSharedPlatform()
  const folder = await mkdtemp(join(tmpdir(), 'tour-'))
  try {
    const credentials = join(folder, 'credentials.json')
    await writeFile(credentials, JSON.stringify(platform.process.credentials))
    const [preparation = ''] = (await commandsOf('main-job.md')).split('# 2.', 1)
    const body =
      '{"given_name":"Ada","family_name":"B","dob":"1980-02-29","identifiers":[{"scheme":"mrn","value":"A-1"}]}'
    const patient = `PATIENT=$(api "$BASE/v1/clinical-api/patients" -d '${body}' | member .id)`
    // `test/app/audit/` verifies logs.
    const [commands = ''] = (await commandsOf('audit.md')).split('# 5.', 1)
    // A busy read model must not decide about the test.
    const count = `audit "$BASE/v1/audit/timeline" -d patient_id="$PATIENT" | member '.data?.length ?? 0'`
    const indexed = `until [ "$(${count})" -ge 2 ]; do sleep 0.2; done\n# 2.`
    const script = `${[preparation, patient, commands.replace('# 2.', indexed)].join('\n')}\nrm -r "$WORK"`.replaceAll(
      '.platform/credentials.json',
      credentials,
    )
    const { stdout, stderr } = await promisify(execFile)('bash', ['-c', script], { cwd: root })
    expect(stderr).toBe('')
    const instant = String.raw`\d{4}-\d\d-\d\dT[\d:.]+Z`
    const [happened, shown] = [
      `${instant}  ReservationClaimed  client\n${instant}  PatientRegistered  client\n`,
      'Ada\n404\nAda\n',
    ]
    expect(stdout).toMatch(new RegExp(`^${happened}${shown}$`))
  } finally {
    await platform.stop()
    await rm(folder, { recursive: true, force: true })
  }
})
