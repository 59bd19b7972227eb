import { SERVER_VERSION } from '../services/node-services.ts'

/** What kind of server this is, in the words in which a real one says it. */
export function nodeInformation(hasAccounts: boolean): unknown {
  return {
    esVersion: SERVER_VERSION,
    state: 'leader',
    features: { projections: false, userManagement: false, atomPub: false },
    authentication: { type: hasAccounts ? 'internal' : 'insecure', properties: null },
    server: 'embedded',
    nodeVersion: process.version,
  }
}
