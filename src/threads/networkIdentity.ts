import type { Config } from '../config/config.ts'
import { createValidatorProof } from '../p2p/hello.ts'
import { peerCounts } from '../p2p/limits.ts'
import { parseNodeId, parsePeerAddress } from '../p2p/peerAddress.ts'
import type { Home } from './openHome.ts'
import type { ThreadsOptions } from './startThreads.ts'

/** What the network thread shows to peers. The validator's key stays in this thread: it gets a proof made with it. */
export function networkIdentity(
  config: Config,
  { chain, paths, nodeKey, validatorKey }: Home,
): ThreadsOptions['network'] {
  const { host, port, persistentPeers, maxPeers } = config.p2p
  return {
    seed: nodeKey.seed,
    validator: createValidatorProof(validatorKey, nodeKey.publicKey, chain.genesisHash),
    moniker: config.moniker,
    listen: { host, port },
    persistentPeers: persistentPeers.map(({ id, address }) => ({
      id: parseNodeId(id),
      address: parsePeerAddress(address)!,
    })),
    counts: peerCounts(maxPeers),
    addressBookPath: paths.addressBook,
    snapshotsPath: paths.snapshots,
  }
}
