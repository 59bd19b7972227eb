import { FormData, Pool } from 'undici'
import type { ProviderAccess } from './jobs.ts'
import { memberOf } from './work.ts'

/** The calls of one assessment to the inference provider, by the bare client. Each throws unless it is answered 200. */
export interface ProviderCalls {
  readonly openCase: () => Promise<string>
  readonly sendImage: (caseId: string, image: Uint8Array<ArrayBuffer>) => Promise<void>
  /** Returns the checksum, by which the result is read. */
  readonly process: (caseId: string) => Promise<string>
  readonly result: (caseId: string, checksum: string) => Promise<unknown>
  readonly close: () => Promise<void>
}

const asForm = { 'content-type': 'application/x-www-form-urlencoded' }

/** Logs in once, because a session is used for long. */
export async function connectProvider({ url, login, password }: ProviderAccess): Promise<ProviderCalls> {
  const pool = new Pool(url, { connections: 64, pipelining: 1 })
  const call = async (
    path: string,
    method: 'GET' | 'POST',
    headers: Record<string, string>,
    body?: string | FormData,
  ) => {
    const answer = await pool.request({ path: `/api5${path}`, method, headers, body: body ?? null })
    const value: unknown = await answer.body.json()
    if (answer.statusCode !== 200) throw new Error(`${path} was answered ${answer.statusCode}`)
    return { value, headers: answer.headers }
  }
  const session = await call('/login', 'POST', asForm, new URLSearchParams({ login, password }).toString())
  const authorization = String(session.headers['authorization'])
  return {
    openCase: async () => {
      const asked = new URLSearchParams({ requestingSystem: 'bench' }).toString()
      return String(memberOf((await call('/case', 'POST', { ...asForm, authorization }, asked)).value, 'caseId'))
    },
    sendImage: async (caseId, image) => {
      const form = new FormData()
      form.append('caseId', caseId)
      form.append('imageType', 'DERMOSCOPIC')
      form.append('image', new File([image], 'image', { type: 'image/jpeg' }))
      await call('/image', 'POST', { authorization }, form)
    },
    process: async (caseId) =>
      String(memberOf((await call(`/case/${caseId}/process`, 'POST', { authorization })).value, 'checksum')),
    result: async (caseId, checksum) =>
      (await call(`/case/${caseId}/result?checksum=${checksum}`, 'GET', { authorization })).value,
    close: () => pool.close(),
  }
}
