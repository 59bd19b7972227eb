import { createClient, Problem } from 'clinical-assessment-client/source'

/** What a page gets from its own server. */
export interface PageTask {
  readonly baseUrl: string
  /** The origin is not one of `CORS_ORIGINS`. */
  readonly isForeign: boolean
}

/** A check that passed, or why it failed. */
export type PageResult = readonly { readonly what: string; readonly failure?: string }[]

const results: { what: string; failure?: string }[] = []

/** Nothing after a failed check. */
async function check<Found>(what: string, work: () => Promise<Found>): Promise<Found> {
  try {
    const found = await work()
    results.push({ what })
    return found
  } catch (error) {
    results.push({ what, failure: String(error) })
    throw error
  }
}

function expectSo(isSo: boolean, failure: string): void {
  if (!isSo) throw new Error(failure)
}

const failureOf = async (work: () => unknown): Promise<unknown> => {
  try {
    await work()
  } catch (error) {
    return error
  }
}

const { baseUrl, isForeign } = (await (await fetch('/task')).json()) as PageTask

async function token(): Promise<string> {
  const answer = await fetch('/token')
  if (!answer.ok) throw new Error(`no token: ${answer.status}`)
  return answer.text()
}

async function checkOwn(): Promise<void> {
  await check('a secret in a page is refused', async () => {
    const refused = await failureOf(() => createClient({ baseUrl, clientId: 'a', clientSecret: 'b' }))
    expectSo(String(refused).includes('does not belong in a browser'), `it was not: ${String(refused)}`)
  })
  const client = createClient({ baseUrl, token })
  const patientId = await check('register a patient', async () => {
    const body = { given_name: 'Ada', family_name: 'Example', dob: '1980-02-29' }
    return (await client.request('POST', '/v1/clinical-api/patients', { body })).data.id
  })
  const [id, url] = await check('request an assessment', async () => {
    const images = [{ capture_type: 'dermoscopic', mime_type: 'image/jpeg' } as const]
    const body = { patient_id: patientId, finding: { finding_type: 'lesion' }, images } as const
    const { data, headers } = await client.request('POST', '/v1/clinical-api/assessments', { body })
    expectSo(headers.get('location') !== null && headers.get('x-request-id') !== null, 'its headers cannot be read')
    return [data.id, data.images[0]?.upload_url ?? '']
  })
  await check('upload a photograph to its address', async () => {
    await client.upload(url, await (await fetch('/photo.jpg')).blob(), { type: 'image/jpeg' })
  })
  await check('submit it', async () => {
    await client.request('POST', '/v1/clinical-api/assessments/{id}/submit', { params: { id } })
    const { data } = await client.request('GET', '/v1/clinical-api/assessments/{id}', { params: { id }, wait: 5 })
    expectSo(data.status !== 'awaiting_images', 'it still waits for its images')
  })
  await check('read the members of a problem', async () => {
    const refused = await failureOf(() =>
      client.request('GET', '/v1/clinical-api/patients/{id}', { params: { id: crypto.randomUUID() } }),
    )
    expectSo(refused instanceof Problem && refused.code === 'not-found', String(refused))
  })
  await check('follow the events as a stream', async () => {
    for await (const { event } of client.events('clinical', { types: ['clinical.patient.registered'] }))
      if (event['patient_id'] === patientId) return
  })
}

async function checkForeign(): Promise<void> {
  await check('a page of another origin can neither write nor read', async () => {
    const client = createClient({ baseUrl, token, retries: 0 })
    const body = { given_name: 'Eve', family_name: 'Example', dob: '1980-02-29' }
    for (const asked of [
      () => client.request('POST', '/v1/clinical-api/patients', { body }),
      () => client.request('GET', '/v1/clinical-api/cases'),
      () => client.events('clinical').next(),
    ]) {
      const refused = await failureOf(asked)
      expectSo(refused instanceof Problem && refused.code === 'connection-lost', `it can: ${String(refused)}`)
    }
  })
}

await (isForeign ? checkForeign() : checkOwn()).catch(() => undefined)
await fetch('/result', { method: 'POST', body: JSON.stringify(results) })
