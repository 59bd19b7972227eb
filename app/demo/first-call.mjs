// A token, a patient, and the event of it. Run: node --env-file=.env first-call.mjs
const { PLATFORM_URL, CLIENT_ID, CLIENT_SECRET } = process.env

async function call(path, request) {
  const response = await fetch(PLATFORM_URL + path, request)
  const body = await response.json()
  if (!response.ok) throw new Error(`${response.status}: ${body.detail}`)
  return body
}

const form = { grant_type: 'client_credentials', client_id: CLIENT_ID, client_secret: CLIENT_SECRET }
const granted = await call('/v1/auth/oauth/token', { method: 'POST', body: new URLSearchParams(form) })
const headers = { authorization: `Bearer ${granted.access_token}`, 'content-type': 'application/json' }
const { next_cursor: after } = await call('/v1/events/clinical?after=now', { headers })
const body = JSON.stringify({ given_name: 'Ada', family_name: 'Example', dob: '1980-02-29' })
const key = { 'idempotency-key': crypto.randomUUID() }
const patient = await call('/v1/clinical-api/patients', { method: 'POST', headers: { ...headers, ...key }, body })
console.log('registered', patient.id)
const { data } = await call(`/v1/events/clinical?after=${after}`, { headers: { ...headers, prefer: 'wait=25' } })
console.log('event', data[0].event_type, data[0].patient_id)
