/** One browser without pages: it keeps cookies and follows no redirect. */
export interface TestBrowser {
  readonly cookies: Map<string, string>
  /** The last answers, as texts. */
  get(address: string, headers?: Readonly<Record<string, string>>): Promise<BrowserAnswer>
  post(address: string, request?: BrowserPost): Promise<BrowserAnswer>
}

interface BrowserPost {
  readonly form?: Readonly<Record<string, string>>
  readonly json?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

export interface BrowserAnswer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly body: unknown
}

export function openBrowser(baseUrl: string): TestBrowser {
  const cookies = new Map<string, string>()

  async function send(address: string, request: RequestInit): Promise<BrowserAnswer> {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const headers = { ...(cookie === '' ? {} : { cookie }), ...Object.fromEntries(new Headers(request.headers)) }
    const response = await fetch(new URL(address, baseUrl), { ...request, headers, redirect: 'manual' })
    for (const line of response.headers.getSetCookie()) {
      const [pair = ''] = line.split(';')
      const [name = '', value = ''] = pair.split('=')
      if (/max-age=0/i.test(line)) cookies.delete(name)
      else cookies.set(name, value)
    }
    const text = await response.text()
    const isJson = /json/.test(response.headers.get('content-type') ?? '')
    const body: unknown = isJson ? JSON.parse(text) : undefined
    return { status: response.status, headers: response.headers, text, body }
  }

  return {
    cookies,
    get: (address, headers = {}) => send(address, { headers }),
    post(address, { form, json, headers = {} } = {}) {
      const type = form === undefined ? 'application/json' : 'application/x-www-form-urlencoded'
      const body = form === undefined ? JSON.stringify(json) : new URLSearchParams(form).toString()
      return send(address, {
        method: 'POST',
        headers: { ...(body === undefined ? {} : { 'content-type': type }), ...headers },
        ...(body === undefined ? {} : { body }),
      })
    },
  }
}
