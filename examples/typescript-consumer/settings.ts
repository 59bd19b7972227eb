import { EventStoreDBClient } from '@eventstore/db-client'

export const channel = process.env['CHANNEL'] ?? 'assessment.events'
export const group = process.env['CONSUMER_GROUP'] ?? 'totals'
export const database = process.env['DATABASE'] ?? 'totals.sqlite'

/** Connects with the account and the certificate of the variables. */
export function connect(): EventStoreDBClient {
  const login = encodeURIComponent(variable('EVENTSTORE_LOGIN'))
  const password = encodeURIComponent(variable('EVENTSTORE_PASSWORD'))
  const certificate = encodeURIComponent(variable('EVENTSTORE_CA_FILE'))
  const address = variable('EVENTSTORE_ADDRESS')
  return EventStoreDBClient.connectionString`esdb://${login}:${password}@${address}?tls=true&tlsCAFile=${certificate}`
}

function variable(name: string): string {
  const value = process.env[name]
  if (value === undefined || value === '') throw new Error(`${name} is not set`)
  return value
}
