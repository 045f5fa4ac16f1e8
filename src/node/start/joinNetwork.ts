import type { Config } from '../../config/config.ts'
import { startedInTime } from '../../config/startDeadline.ts'
import { threadEntry } from '../../primitives/location.ts'
import type { SnapshotPeers } from '../../sync/blocks/peerSnapshots.ts'
import type { JoinerData, JoinerService } from '../roles/joiner/joinerThread.ts'
import { connect } from '../wire/port.ts'
import type { Home } from './openHome.ts'
import { answered, spawnThread } from './spawn.ts'
import { networkIdentity } from './startThreads.ts'

/** The network of a node that has no database yet. */
export interface JoinNetwork extends SnapshotPeers {
  /** Asks which peers are connected now; `peers` returns the answer until the next time. */
  refresh(): Promise<void>
  /** see `LightBlockReader` */
  fetchLightBlock(peer: string, height: number): Promise<Uint8Array | undefined>
  close(): Promise<void>
}

/** Starts the joiner thread, see src/node/roles/joiner/joinerThread.ts. @throws what ends that thread: the port is taken, for example */
export async function openJoinNetwork(config: Config, home: Home): Promise<JoinNetwork> {
  const { snapshotsPath: _, ...identity } = networkIdentity(config, home)
  const data: JoinerData = {
    ...identity,
    externalAddress: config.p2p.externalAddress,
    rpcAddress: config.rpc.publicUrl,
    chain: { chainId: home.chain.chainId, genesisHash: home.chain.genesisHash },
    log: config.log,
  }
  const thread = spawnThread('joiner', threadEntry('joiner'), data, [])
  const remote = connect<JoinerService>(thread.control)
  const call = <T>(answer: Promise<T>): Promise<T> => answered(thread, answer)
  let peers: readonly string[]
  try {
    peers = await startedInTime(thread.name, call(remote.peers()))
  } catch (error) {
    await thread.stop()
    throw error
  }
  return {
    refresh: async () => {
      peers = await call(remote.peers())
    },
    peers: () => peers,
    fetchOffers: (peer) => call(remote.fetchOffers(peer)),
    fetchPiece: (peer, file) => call(remote.fetchPiece(peer, file)),
    fetchLightBlock: (peer, height) => call(remote.fetchLightBlock(peer, height)),
    punish: (peer, what, reason) => {
      peers = peers.filter((id) => id !== peer)
      // A thread that has died shows it at the next call.
      remote.punish(peer, what, reason).catch(() => undefined)
    },
    close: async () => {
      await call(remote.close()).catch(() => undefined)
      await thread.stop()
    },
  }
}
