import gossip from '@eventstore/db-client/generated/gossip_pb.js'
import features from '@eventstore/db-client/generated/serverfeatures_pb.js'
import shared from '@eventstore/db-client/generated/shared_pb.js'
import { randomUUID } from 'node:crypto'
import { GossipService } from '@eventstore/db-client/generated/gossip_grpc_pb.js'
import { ServerFeaturesService } from '@eventstore/db-client/generated/serverfeatures_grpc_pb.js'
import { PersistentSubscriptionsService } from '@eventstore/db-client/generated/persistent_grpc_pb.js'
import { StreamsService } from '@eventstore/db-client/generated/streams_grpc_pb.js'

/** Version of the server whose protocol the node implements. */
const SERVER_VERSION = '23.10.6'

const FEATURES: Record<string, string[]> = { read: ['position', 'events'], batchappend: ['deadline_duration'] }
const GROUP_FEATURES = ['stream', 'all']

/** The calls that clients may use. */
export function supportedMethods(): features.SupportedMethods {
  const answer = new features.SupportedMethods().setEventStoreServerVersion(SERVER_VERSION)
  for (const service of [StreamsService, PersistentSubscriptionsService, GossipService, ServerFeaturesService]) {
    for (const definition of Object.values(service)) {
      const [, serviceName = '', methodName = ''] = definition.path.toLowerCase().split('/')
      const method = new features.SupportedMethod().setServiceName(serviceName).setMethodName(methodName)
      answer.addMethods(
        method.setFeaturesList(
          service === PersistentSubscriptionsService ? GROUP_FEATURES : (FEATURES[methodName] ?? []),
        ),
      )
    }
  }
  return answer
}

const ANY_ADDRESS = ['0.0.0.0', '::']

/**
 * Gossip of a cluster of one: this node is the leader. If it listens on every address, it reports the address that the
 * client used.
 */
export function clusterInfo(host: string, port: number): (called: string) => gossip.ClusterInfo {
  const instanceId = new shared.UUID().setString(randomUUID())
  return (called) => {
    const address = ANY_ADDRESS.includes(host) ? new URL(`http://${called}`).hostname : host
    const member = new gossip.MemberInfo()
      .setInstanceId(instanceId)
      .setTimeStamp(String(BigInt(Date.now()) * 10_000n))
      .setState(gossip.MemberInfo.VNodeState.LEADER)
      .setIsAlive(true)
      .setHttpEndPoint(new gossip.EndPoint().setAddress(address).setPort(port))
    return new gossip.ClusterInfo().setMembersList([member])
  }
}

/** Information about the server, with the members of a real one. */
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
