import type { Metadata, ServerUnaryCall, sendUnaryData } from '@grpc/grpc-js'
import persistent from '@eventstore/db-client/generated/persistent_pb.js'
import shared from '@eventstore/db-client/generated/shared_pb.js'
import type { AccessControl } from '../access/access-control.ts'
import type { PersistentSubscriptions } from '../persistent/persistent-subscriptions.ts'
import { StatisticsTaker, type ConnectionStatistics } from '../persistent/statistics.ts'
import type { RunningGroup } from '../persistent/running-group.ts'
import { handlerFailed } from '../wire/errors.ts'
import { groupCallError } from './persistent-errors.ts'
import { readCreateRequest, readUpdateRequest, streamName, streamOrAll } from './persistent-requests.ts'

const LONGEST_INT32 = 0x7fffffff

type Answer<Response> = (done: (response: Response) => void) => void

/** The calls that create, update, delete and inspect groups. */
export function groupCalls(
  subscriptions: PersistentSubscriptions,
  access: AccessControl,
): {
  create: UnaryHandler<persistent.CreateReq, persistent.CreateResp>
  update: UnaryHandler<persistent.UpdateReq, persistent.UpdateResp>
  delete: UnaryHandler<persistent.DeleteReq, persistent.DeleteResp>
  getInfo: UnaryHandler<persistent.GetInfoReq, persistent.GetInfoResp>
  list: UnaryHandler<persistent.ListReq, persistent.ListResp>
  replayParked: UnaryHandler<persistent.ReplayParkedReq, persistent.ReplayParkedResp>
  restartSubsystem: UnaryHandler<shared.Empty, shared.Empty>
} {
  const statistics = new StatisticsTaker()
  const manage = <Request, Response>(serve: Serve<Request, Response>): UnaryHandler<Request, Response> =>
    unary((call) => {
      access.requireOperator(call.metadata)
      return serve(call.request, access.nameOf(call.metadata))
    })
  const look = <Request, Response>(serve: Serve<Request, Response>): UnaryHandler<Request, Response> =>
    unary((call) => serve(call.request, access.nameOf(call.metadata)))
  return {
    create: manage(
      (request, user) => (done) =>
        subscriptions.create(readCreateRequest(request), user, () => done(new persistent.CreateResp())),
    ),
    update: manage(
      (request, user) => (done) =>
        subscriptions.update(readUpdateRequest(request), user, () => done(new persistent.UpdateResp())),
    ),
    delete: manage((request, user) => (done) => {
      const options = given(request.getOptions())
      subscriptions.delete(streamOrAll(options), options.getGroupName(), user, () => done(new persistent.DeleteResp()))
    }),
    getInfo: look((request) => (done) => {
      const options = given(request.getOptions())
      const group = subscriptions.find(streamOrAll(options), options.getGroupName())
      done(new persistent.GetInfoResp().setSubscriptionInfo(infoOf(group, statistics)))
    }),
    list: look((request) => (done) => {
      const groups = subscriptions.list(listedStream(given(request.getOptions())))
      done(new persistent.ListResp().setSubscriptionsList(groups.map((group) => infoOf(group, statistics))))
    }),
    replayParked: manage((request) => (done) => {
      const options = given(request.getOptions())
      subscriptions.replayParked(
        streamOrAll(options),
        options.getGroupName(),
        options.hasStopAt() ? Number(options.getStopAt()) : undefined,
      )
      done(new persistent.ReplayParkedResp())
    }),
    restartSubsystem: manage(() => (done) => {
      subscriptions.restart()
      done(new shared.Empty())
    }),
  }
}

type Serve<Request, Response> = (request: Request, user: string) => Answer<Response>
type UnaryHandler<Request, Response> = (
  call: ServerUnaryCall<Request, Response>,
  reply: sendUnaryData<Response>,
) => void

function unary<Request, Response>(
  serve: (call: { request: Request; metadata: Metadata }) => Answer<Response>,
): UnaryHandler<Request, Response> {
  return (call, reply) => {
    try {
      serve(call)((response) => reply(null, response))
    } catch (error) {
      reply(groupCallError(error))
    }
  }
}

function given<Options>(options: Options | undefined): Options {
  if (options === undefined) throw handlerFailed()
  return options
}

function listedStream(options: persistent.ListReq.Options): string | undefined {
  if (options.hasListAllSubscriptions()) return undefined
  const one = given(options.getListForStream())
  return one.hasAll() ? '$all' : streamName(one.getStream())
}

function infoOf(running: RunningGroup, taker: StatisticsTaker): persistent.SubscriptionInfo {
  const { settings } = running
  const statistics = taker.take(running)
  return new persistent.SubscriptionInfo()
    .setEventSource(statistics.eventSource)
    .setGroupName(settings.group)
    .setStatus(statistics.status)
    .setConnectionsList(statistics.connections.map(connectionInfo))
    .setAveragePerSecond(statistics.averagePerSecond)
    .setTotalItems(String(statistics.totalItems))
    .setCountSinceLastMeasurement(String(statistics.countSinceLastMeasurement))
    .setLastCheckpointedEventPosition(statistics.lastCheckpoint)
    .setLastKnownEventPosition(statistics.lastKnown)
    .setResolveLinkTos(settings.resolveLinks)
    .setStartFrom(statistics.startFrom)
    .setMessageTimeoutMilliseconds(settings.messageTimeout)
    .setExtraStatistics(settings.extraStatistics)
    .setMaxRetryCount(settings.maxRetryCount)
    .setLiveBufferSize(settings.liveBufferSize)
    .setBufferSize(settings.historyBufferSize)
    .setReadBatchSize(settings.readBatchSize)
    .setCheckPointAfterMilliseconds(settings.checkpointAfter === 0 ? LONGEST_INT32 : settings.checkpointAfter)
    .setMinCheckPointCount(settings.minCheckpointCount)
    .setMaxCheckPointCount(settings.maxCheckpointCount)
    .setReadBufferCount(statistics.readBufferCount)
    .setLiveBufferCount(String(statistics.liveBufferCount))
    .setRetryBufferCount(statistics.retryBufferCount)
    .setTotalInFlightMessages(statistics.inFlight)
    .setOutstandingMessagesCount(statistics.outstanding)
    .setNamedConsumerStrategy(settings.strategy)
    .setMaxSubscriberCount(settings.maxSubscriberCount)
    .setParkedMessageCount(String(statistics.parked))
}

function connectionInfo(connection: ConnectionStatistics): persistent.SubscriptionInfo.ConnectionInfo {
  return new persistent.SubscriptionInfo.ConnectionInfo()
    .setUsername(connection.username)
    .setConnectionName(connection.name)
    .setAverageItemsPerSecond(connection.averagePerSecond)
    .setTotalItems(String(connection.totalItems))
    .setCountSinceLastMeasurement(String(connection.countSinceLastMeasurement))
    .setAvailableSlots(connection.availableSlots)
    .setInFlightMessages(connection.inFlight)
    .setObservedMeasurementsList(
      connection.measurements.map(({ key, value }) =>
        new persistent.SubscriptionInfo.Measurement().setKey(key).setValue(String(value)),
      ),
    )
}
