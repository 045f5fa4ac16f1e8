import { randomBytes } from 'node:crypto'
import type { Dispatcher } from './dispatch.ts'
import { RPC_CODES, RpcError } from './errors.ts'
import { readTopic } from './subscriptionRequest.ts'
import type { SubscriptionHub } from './subscriptions.ts'
import type { SocketProtocol, SocketSubscriptions } from './websocketSession.ts'

/** JSON-RPC with `eth_subscribe` (geth: rpc/subscription.go). @param maxSubscriptions of one socket */
export function createEthereumSocket(
  dispatcher: Dispatcher,
  hub: SubscriptionHub,
  maxSubscriptions: number,
): SocketProtocol {
  const subscribe = (subscriptions: SocketSubscriptions, params: readonly unknown[]): string => {
    const topic = readTopic(params)
    if (subscriptions.count >= maxSubscriptions) {
      throw new RpcError(RPC_CODES.limitExceeded, `too many subscriptions, want at most ${maxSubscriptions}`)
    }
    const id = `0x${randomBytes(16).toString('hex')}`
    const start = `{"jsonrpc":"2.0","method":"eth_subscription","params":{"subscription":"${id}","result":`
    subscriptions.start(id, (deliver) => hub.add(topic, (result) => deliver(`${start}${result}}}`)))
    return id
  }
  return {
    answer: (text, subscriptions) =>
      dispatcher.answer(text, {
        subscribe: (params) => subscribe(subscriptions, params),
        unsubscribe: (id) => subscriptions.end(id),
      }),
    // Without an answer nobody has the ID.
    tells: (answer, id) => answer?.includes(id) === true,
  }
}
