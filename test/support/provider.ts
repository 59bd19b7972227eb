import { Check } from 'typebox/schema'
import { Type, type Static } from 'typebox'
import type { FaultControl, ResultControl } from '../../embedded/provider/controls.ts'

const ProviderCall = Type.Object({
  call: Type.String(),
  status: Type.Integer(),
  caseId: Type.Optional(Type.Integer()),
  imageId: Type.Optional(Type.Integer()),
  sha256: Type.Optional(Type.String()),
  imageType: Type.Optional(Type.String()),
  deviceManufacturer: Type.Optional(Type.String()),
  deviceModel: Type.Optional(Type.String()),
  correlationId: Type.Optional(Type.String()),
  checksum: Type.Optional(Type.String()),
  requestingSystem: Type.Optional(Type.String()),
})
export type ProviderCall = Static<typeof ProviderCall>

/** The remote control of a provider simulator. */
export interface TestProvider {
  /** Its calls in order, including refused ones. */
  calls(): Promise<readonly ProviderCall[]>
  /** The same without logins and logouts, because these depend on sessions and processes. */
  caseCalls(): Promise<readonly ProviderCall[]>
  /** All calls, as `case 200, image 200, …`. */
  story(): Promise<readonly string[]>
  fault(...faults: readonly Partial<FaultControl>[]): Promise<void>
  result(...results: readonly ResultControl[]): Promise<void>
  /** Resets controls and calls. */
  reset(): Promise<void>
}

/**
 * The provider at an address, controlled with the secret of its remote control. Each processor has its own login. If
 * several processors share the provider (`isShared`), a login without a cause is another processor's first one. It is
 * left out of the calls. Causes are the start and a refused call.
 */
export function providerAt(url: string, controlSecret: string, isShared = false): TestProvider {
  let isLoggedIn = false

  function asOfOne(list: readonly ProviderCall[]): readonly ProviderCall[] {
    let isLoginDue = !isLoggedIn
    return list.filter(({ call, status }) => {
      if (status === 401) isLoginDue = true
      if (call !== 'login' || status !== 200) return true
      const isWanted = isLoginDue
      isLoginDue = false
      return isWanted
    })
  }

  async function send(method: string, path: string, body?: unknown): Promise<unknown> {
    const response = await fetch(`${url}/control${path}`, {
      method,
      // The simulator closes idle connections after five seconds. A request at that moment would fail.
      headers: { 'x-control-secret': controlSecret, connection: 'close' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`the simulator answered ${response.status} to ${method} ${path}: ${text}`)
    return text === '' ? undefined : JSON.parse(text)
  }
  async function calls(): Promise<readonly ProviderCall[]> {
    const list = await send('GET', '/calls')
    if (!Check(Type.Array(ProviderCall), list)) throw new Error('the call list of the simulator has an unexpected form')
    return isShared ? asOfOne(list) : list
  }
  return {
    calls,
    caseCalls: async () => (await calls()).filter(({ call }) => call !== 'login' && call !== 'logout'),
    story: async () => (await calls()).map(({ call, status }) => `${call} ${status}`),
    fault: async (...faults) => void (await send('POST', '/faults', faults)),
    result: async (...results) => void (await send('POST', '/results', results)),
    async reset() {
      isLoggedIn ||= (await calls()).some(({ call, status }) => call === 'login' && status === 200)
      await send('DELETE', '')
    },
  }
}
