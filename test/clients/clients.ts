import type { Client } from './client.ts'

const NPM: Pick<Client, 'needs' | 'install' | 'run'> = {
  needs: ['npm'],
  install: [['npm', 'install', '--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock', '--loglevel=error']],
  run: ['node', 'main.js'],
}
const PYTHON: Pick<Client, 'needs' | 'install' | 'run'> = {
  needs: ['python3'],
  install: [
    ['python3', '-m', 'venv', 'environment'],
    ['environment/bin/pip', 'install', '--quiet', '--requirement', 'requirements.txt'],
  ],
  run: ['environment/bin/python', 'main.py'],
}
const GO: Pick<Client, 'needs' | 'install' | 'run'> = {
  needs: ['go'],
  install: [['go', 'build', '-o', 'client', '.']],
  run: ['./client'],
}

/** In the order in which they run: what needs little first. */
export const CLIENTS: readonly Client[] = [
  {
    name: 'cast',
    version: 'cast of Foundry (@foundry-rs/cast, the version of package.json)',
    does: 'run, trace, call --trace, rpc trace_transaction, access-list, proof, storage, logs of transactions of the chain',
    needs: ['bash', 'jq'],
    install: [],
    run: ['bash', 'main.sh'],
  },
  {
    name: 'go-ethereum',
    version: 'go-ethereum 1.17.10 (ethclient, gethclient)',
    does: 'SimulateV1, SubscribeTransactionReceipts, SubscribeNewHead, a sent transaction with its receipt and logs, call, access list, proof, traces',
    ...GO,
  },
  {
    name: 'cosmos-sdk',
    version: 'cosmos-sdk 0.53.4 (generated gRPC clients)',
    does: 'queries of bank, staking, distribution, slashing, mint, gov, node and CometBFT services; heights in and out; Simulate, BroadcastTx, GetTx, GetTxsEvent, GetBlockWithTxs, TxDecode, TxEncode; a transaction of the EVM',
    ...GO,
  },
  {
    name: 'grpcurl',
    version: 'grpcurl 1.9.3',
    does: 'list, describe and call by server reflection, without any file of protobuf',
    needs: ['go', 'bash'],
    install: [['bash', 'install.sh']],
    run: ['bash', 'main.sh'],
  },
  {
    name: 'evmd',
    version: 'evmd of cosmos/evm 0.7',
    does: 'status, query block, query tx and query txs of both kinds of transactions, query evm params, tx evm raw, tx decode, tx encode, tx broadcast',
    needs: ['bash', 'jq'],
    variable: 'EVMD',
    install: [],
    run: ['bash', 'main.sh'],
  },
  {
    name: 'web3py',
    version: 'web3.py 8.0.0',
    does: 'blocks, receipts, a sent transaction, a contract, filters; AsyncWeb3 over a WebSocket with subscriptions; traces',
    ...PYTHON,
  },
  {
    name: 'ethereum-etl',
    version: 'ethereum-etl 2.4.2',
    does: 'exports blocks, transactions, receipts, logs, tokens’ transfers and traces (trace_ and geth’s), whose numbers are those of the chain',
    ...PYTHON,
    // Its parser of ABIs is older than Python 3.11.
    install: [
      ...PYTHON.install,
      ['environment/bin/pip', 'install', '--quiet', '--no-deps', 'parsimonious==0.10.0', 'regex==2026.1.15'],
    ],
  },
  {
    name: 'alto',
    version: '@pimlico/alto 0.0.20',
    does: 'a bundler that includes UserOperations through EntryPoint 0.7 of the genesis',
    ...NPM,
  },
  {
    name: 'ponder',
    version: 'ponder 0.16.10',
    does: 'indexes a token from its first block: events with receipts and traces of calls; each transfer that was sent is among them',
    ...NPM,
  },
  {
    name: 'subsquid',
    version: '@subsquid/evm-processor 1.27.3',
    does: 'reads logs, transactions, traces and state diffs of all blocks over RPC alone',
    ...NPM,
  },
  {
    name: 'hardhat',
    version: 'hardhat 3.18.0 with Ignition 3.1.8',
    does: 'deploys two contracts of which one takes the address of the other, is told again and does nothing, calls them',
    ...NPM,
  },
  {
    name: 'hermes',
    version: 'hermes 1.10.5 (ibc-relayer-cli)',
    does: 'health-check, which says that the chain has no IBC and nothing else; keys, a balance, a transaction, blocks over a WebSocket',
    needs: ['bash'],
    variable: 'HERMES',
    install: [],
    run: ['bash', 'main.sh'],
  },
]
