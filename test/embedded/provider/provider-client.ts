import { createHash } from 'node:crypto'
import { type EmbeddedProvider, startProvider } from '../../../embedded/provider/start-provider.ts'

export type Reply = { status: number; body: Record<string, unknown>; headers: Headers }

export const controlSecret = 'control-secret-of-these-tests'

export async function startTestProvider(dataDir: string, sessionTtlSeconds?: number): Promise<EmbeddedProvider> {
  return await startProvider({
    dataDir,
    port: 0,
    login: 'demo',
    password: 'secret',
    controlSecret,
    ...(sessionTtlSeconds === undefined ? {} : { sessionTtlSeconds }),
  })
}

export function sha256Of(bytes: string): string {
  return createHash('sha256').update(bytes).digest('hex')
}

/** The session API for a client. `login` keeps the session for later calls. */
export class ProviderClient {
  readonly #url: string
  token = ''

  constructor(provider: EmbeddedProvider) {
    this.#url = provider.url
  }

  async login(password = 'secret'): Promise<Reply> {
    const reply = await this.#send('/api5/login', {
      method: 'POST',
      body: new URLSearchParams({ login: 'demo', password }),
    })
    this.token = reply.headers.get('authorization') ?? ''
    return reply
  }

  logout(): Promise<Reply> {
    return this.#send('/api5/logout', { method: 'POST' })
  }

  openCase(requestingSystem = 'platform-test'): Promise<Reply> {
    return this.#send('/api5/case', { method: 'POST', body: new URLSearchParams({ requestingSystem }) })
  }

  sendImage(caseId: unknown, image: string, imageType = 'DERMOSCOPIC'): Promise<Reply> {
    const body = new FormData()
    body.set('caseId', String(caseId))
    body.set('imageType', imageType)
    body.set('correlationId', 'correlation-1')
    body.set('image', new Blob([image]), 'image.jpg')
    return this.#send('/api5/image', { method: 'POST', body })
  }

  process(caseId: unknown): Promise<Reply> {
    return this.#send(`/api5/case/${String(caseId)}/process`, { method: 'POST' })
  }

  result(caseId: unknown, checksum: unknown): Promise<Reply> {
    return this.#send(`/api5/case/${String(caseId)}/result?checksum=${String(checksum)}`, {})
  }

  /** Runs a case from login to its checksum. */
  async processedCase(...images: string[]): Promise<{ caseId: unknown; checksum: unknown }> {
    const { caseId } = (await this.openCase()).body
    for (const image of images) await this.sendImage(caseId, image)
    return { caseId, checksum: (await this.process(caseId)).body['checksum'] }
  }

  control(method: string, path: string, body?: unknown): Promise<Reply> {
    return this.#send(`/control${path}`, { method, ...(body === undefined ? {} : { body: JSON.stringify(body) }) })
  }

  async calls(): Promise<Record<string, unknown>[]> {
    const response = await fetch(`${this.#url}/control/calls`, { headers: { 'x-control-secret': controlSecret } })
    return (await response.json()) as Record<string, unknown>[]
  }

  async #send(path: string, init: RequestInit): Promise<Reply> {
    const response = await fetch(`${this.#url}${path}`, {
      ...init,
      headers: { authorization: this.token, 'x-control-secret': controlSecret },
    })
    const text = await response.text()
    const body = text === '' ? {} : (JSON.parse(text) as Record<string, unknown>)
    return { status: response.status, body, headers: response.headers }
  }
}
