import { workerData } from 'node:worker_threads'
import type { ChainConfig } from '../../../chain/genesis/chainConfig.ts'
import type { LogConfig } from '../../../config/config.ts'
import { listenAs, p2pListener } from '../../../config/listeners.ts'
import { VERSION } from '../../../config/version.ts'
import type { Misbehaviour, PeerId } from '../../../consensus/transport.ts'
import { Network, type NetworkOptions } from '../../../p2p/peerNetwork.ts'
import { checkKnownAnswers, PRIMITIVE_ANSWERS } from '../../../primitives/selfTest.ts'
import { NO_SNAPSHOTS } from '../../../snapshot/offeredSnapshots.ts'
import { createLogger } from '../../../telemetry/logger.ts'
import { createNetworkMetrics } from '../../../telemetry/metrics.ts'
import { createThreadMetrics } from '../../../telemetry/threadMetrics.ts'
import type { ThreadData } from '../../start/spawn.ts'
import { serve } from '../../wire/port.ts'
import { survivePeerErrors } from '../network/peerErrors.ts'

/**
 * The joiner thread is the network of a node that has no database yet: it finds peers and fetches snapshots and light blocks from them,
 * which the main thread asks for. It has no blocks to serve and passes nothing on. It ends before the node's own network begins, which has
 * the same identity and port.
 */
export interface JoinerData
  extends Pick<
    NetworkOptions,
    | 'seed'
    | 'validator'
    | 'moniker'
    | 'listen'
    | 'policy'
    | 'counts'
    | 'addressBookPath'
    | 'externalAddress'
    | 'rpcAddress'
  > {
  readonly chain: Pick<ChainConfig, 'chainId' | 'genesisHash'>
  readonly log: LogConfig
}

export type JoinerService = typeof service

const { control, data } = workerData as ThreadData<JoinerData>
checkKnownAnswers(PRIMITIVE_ANSWERS)
const metrics = createNetworkMetrics(createThreadMetrics('joiner').registry)
const log = createLogger(data.log, { thread: 'joiner' }).child({ part: 'p2p' })
const joined = new Set<PeerId>()

const peerErrors = survivePeerErrors({ metrics, log })
const network = await peerErrors.start(() =>
  listenAs(p2pListener(data.listen), () =>
    Network.start(
      {
        ...data,
        ...data.chain,
        version: VERSION,
        // It serves no blocks: the lowest is above the highest.
        blocks: () => ({ base: 1, height: 0, read: () => undefined, close: async () => undefined }),
        snapshots: NO_SNAPSHOTS,
        lightBlocks: () => undefined,
        olderBlocks: () => ({ read: () => undefined, below: () => undefined, close: async () => undefined }),
        height: () => 0,
        unhandled: () => 0,
        onDefect: peerErrors.onDefect,
        metrics,
        log,
        now: () => performance.now(),
      },
      {
        joined: ({ id }) => void joined.add(id),
        left: ({ id }) => joined.delete(id),
        message: () => undefined,
        // Neither can be checked without the chain.
        evidence: async () => 'ignore',
        transactions: async () => ({ admitted: 0, refused: 0, invalid: [], unknown: [] }),
      },
    ),
  ),
)

const service = {
  peers: (): readonly PeerId[] => [...joined],
  fetchOffers: (peer: PeerId) => network.fetchOffers(peer),
  fetchPiece: (peer: PeerId, file: { readonly sha256: Uint8Array; readonly offset: number }) =>
    network.fetchPiece(peer, file),
  fetchLightBlock: (peer: PeerId, height: number) => network.fetchLightBlock(peer, height),
  punish: (peer: PeerId, what: Misbehaviour, reason: string): void => network.punish(peer, what, reason),
  close: async () => {
    await network.close()
    log.flush()
  },
}
serve(control, service)
