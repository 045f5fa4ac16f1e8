import type { LocalNetwork, NetworkNode, NetworkOptions } from '../e2e/network/localNetwork.ts'
import { createNamespaces, namespacesMissing } from '../e2e/network/namespaces.ts'
import { ATTACKERS_RANGE } from './attackerAddress.ts'

/**
 * Where the nodes and the attackers are. In network namespaces, each validator has an address of the Internet for its peer port, and all
 * attackers come from addresses of the Internet, so nodes treat them as strangers. On the loopback interface, rows say less: nodes do not ban such
 * addresses, allow them more handshakes and slots, and count no requests of their clients.
 */
export interface Place {
  readonly isLoopback: boolean
  readonly networkOptions: Pick<NetworkOptions, 'placeOf' | 'announcedAddress' | 'environment'>
  /** a command that runs the rest of its arguments where the attackers are */
  readonly within: readonly string[]
  /** What a node of a network is started with. */
  variablesOf(network: LocalNetwork, node: NetworkNode): Readonly<Record<string, string>>
  remove(): void
}

/** Nodes of one network at most; the attackers are the next one. */
const NODES = 5

/** The place for all networks of a run, one after the other. @throws Error where namespaces are missing and `isLoopback` is false */
export function createPlace(isLoopback: boolean): Place {
  return isLoopback ? loopbackPlace() : internetPlace()
}

function loopbackPlace(): Place {
  return {
    isLoopback: true,
    networkOptions: {},
    within: [],
    variablesOf: persistentPeers,
    remove: () => undefined,
  }
}

function internetPlace(): Place {
  const missing = namespacesMissing()
  if (missing !== undefined)
    throw new Error(`${missing}; --loopback runs without them, with attackers that nodes trust more`)
  const namespaces = createNamespaces(NODES + 1)
  const addressOf = (index: number): string => `20.${10 + index}.0.1`
  for (let index = 0; index < NODES; index++) namespaces.publish(index, addressOf(index))
  namespaces.publish(NODES, addressOf(NODES), [ATTACKERS_RANGE])
  return {
    isLoopback: false,
    networkOptions: {
      placeOf: namespaces.hostOf,
      announcedAddress: async (index, address) => `${addressOf(index)}:${address.split(':')[1]}`,
    },
    within: namespaces.hostOf(NODES).within,
    variablesOf: (network, node) => {
      const index = network.nodes.indexOf(node)
      const { address } = namespaces.hostOf(index)
      return {
        ...persistentPeers(network, node),
        P2P_HOST: addressOf(index),
        METRICS_HOST: address,
        ADDR_BOOK_STRICT: 'true',
      }
    },
    remove: () => namespaces.remove(),
  }
}

/** Validators name one another; a node that joins later is a stranger to them. */
function persistentPeers({ validators }: LocalNetwork, node: NetworkNode): Readonly<Record<string, string>> {
  const peers = validators.filter((other) => other !== node)
  return { PERSISTENT_PEERS: peers.map(({ nodeId, peerAddress }) => `${nodeId}@${peerAddress}`).join(',') }
}
