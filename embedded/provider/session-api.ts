import { isSame } from '../children/remote-control.ts'
import type { CallName } from './controls.ts'
import type { CallRecord, Memory, ProviderCase } from './memory.ts'
import type { ReceivedForm } from './multipart.ts'
import { controlOfCase, resultPayload } from './result-payload.ts'

export type Answer = { status: number; body: string; headers?: Readonly<Record<string, string>>; delayMs: number }

export type ProviderSettings = {
  login: string
  password: string
  /** Grants access to the remote control. */
  controlSecret: string
  sessionTtlSeconds: number
}

export type IncomingCall = {
  call: CallName
  caseId: number | undefined
  checksum: string | undefined
  /** The session token, without a `Bearer` prefix. */
  token: string
  form: ReceivedForm
  now: number
}

type Reply = {
  status: number
  body: Record<string, unknown> | string
  headers?: Readonly<Record<string, string>>
  notes?: Partial<CallRecord>
}

const IMAGE_TYPES = ['DERMOSCOPIC', 'MACROSCOPIC']

/** Handles one call of the session API. Its effect and its entry in the call list are stored before the answer. */
export function answerCall(memory: Memory, settings: ProviderSettings, incoming: IncomingCall): Answer {
  return memory.atomically(() => {
    const fault = memory.takeFault(incoming.call)
    const faulty = fault !== undefined && (fault.status >= 300 || fault.body !== undefined)
    if (fault?.status === 401) memory.dropSession(incoming.token)
    const reply = faulty
      ? { status: fault.status, body: fault.body ?? { error: 'simulated fault' } }
      : replyTo(memory, settings, incoming)
    memory.record({
      call: incoming.call,
      at: new Date(incoming.now).toISOString(),
      status: reply.status,
      ...asked(incoming),
      ...reply.notes,
    })
    return {
      status: reply.status,
      body: typeof reply.body === 'string' ? reply.body : JSON.stringify(reply.body),
      delayMs: fault?.delay_ms ?? 0,
      ...(reply.headers === undefined ? {} : { headers: reply.headers }),
    }
  })
}

/** The ids in the request, for the call list. Refused calls include them too. */
function asked({ caseId, checksum, form }: IncomingCall): Partial<CallRecord> {
  const { correlationId, deviceManufacturer, deviceModel, imageType, requestingSystem } = form.fields
  const ofForm = Number(form.fields['caseId'])
  return {
    ...(caseId === undefined ? {} : { caseId }),
    ...(Number.isInteger(ofForm) ? { caseId: ofForm } : {}),
    ...(form.image === undefined ? {} : { sha256: form.image.sha256 }),
    ...(imageType === undefined ? {} : { imageType }),
    ...(deviceManufacturer === undefined ? {} : { deviceManufacturer }),
    ...(deviceModel === undefined ? {} : { deviceModel }),
    ...(correlationId === undefined ? {} : { correlationId }),
    ...(checksum === undefined ? {} : { checksum }),
    ...(requestingSystem === undefined ? {} : { requestingSystem }),
  }
}

function replyTo(memory: Memory, settings: ProviderSettings, incoming: IncomingCall): Reply {
  const { call, form, token, now } = incoming
  if (call === 'login') {
    const known = isSame(form.fields['login'], settings.login) && isSame(form.fields['password'], settings.password)
    if (!known) return refusal(401, 'unknown login or wrong password')
    return { status: 200, body: {}, headers: { authorization: memory.openSession(now, settings.sessionTtlSeconds) } }
  }
  if (!memory.hasSession(token, now)) return refusal(401, 'no session')
  if (call === 'logout') {
    memory.dropSession(token)
    return { status: 200, body: {} }
  }
  if (call === 'case') {
    const requestingSystem = form.fields['requestingSystem']
    if (requestingSystem === undefined || requestingSystem === '') return refusal(400, 'requestingSystem is required')
    const caseId = memory.openCase(requestingSystem)
    return { status: 200, body: { caseId }, notes: { caseId } }
  }
  const found = memory.findCase(incoming.caseId ?? Number(form.fields['caseId'] ?? 0))
  if (found === undefined) return refusal(404, 'unknown case')
  if (call === 'image') return addImage(memory, found, form)
  if (call === 'process') return process(memory, found, now)
  return giveResult(memory, found, incoming.checksum)
}

function addImage(memory: Memory, found: ProviderCase, form: ReceivedForm): Reply {
  const imageType = form.fields['imageType'] ?? ''
  if (form.image === undefined || form.image.bytes === 0) return refusal(400, 'image is required')
  if (!IMAGE_TYPES.includes(imageType)) return refusal(400, `imageType must be one of ${IMAGE_TYPES.join(', ')}`)
  if (found.checksum !== undefined) return refusal(409, 'the case is already processed')
  const imageId = memory.addImage(found.caseId, form.image.sha256, imageType)
  return { status: 200, body: { imageId, hash: form.image.sha256 }, notes: { imageId } }
}

function process(memory: Memory, found: ProviderCase, now: number): Reply {
  if (memory.imagesOf(found.caseId).length === 0) return refusal(400, 'the case has no image')
  const checksum = memory.process(found, now)
  return { status: 200, body: { checksum }, notes: { checksum } }
}

function giveResult(memory: Memory, found: ProviderCase, checksum: string | undefined): Reply {
  if (found.checksum === undefined || checksum !== found.checksum) return refusal(404, 'no result under this checksum')
  if (found.result !== undefined) return { status: 200, body: found.result }
  const images = memory.imagesOf(found.caseId)
  const controls = memory.resultControls()
  if (found.polls < (controlOfCase(images, controls, 'not_ready_polls') ?? 0)) {
    memory.countPoll(found.caseId)
    return { status: 200, body: { status: 'STATUS_PROCESSING', caseId: found.caseId } }
  }
  const result = JSON.stringify(resultPayload({ ...found, images }, controls))
  memory.keepResult(found.caseId, result)
  return { status: 200, body: result }
}

function refusal(status: number, error: string): Reply {
  return { status, body: { error } }
}
