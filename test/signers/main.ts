/**
 * A network of four validators whose keys are in signers that others wrote: `npm run test:signers -- [flags]`. Each signer is killed and
 * started again several times, one after another, and a peer that takes no part in consensus looks for two signatures of one step. Needs
 * TMKMS (`cargo install tmkms --features=softsign`) and CometBFT's priv_val_server (`go install
 * github.com/cometbft/cometbft/cmd/priv_val_server@v0.38.26`), in PATH or named by TMKMS and PRIV_VALIDATOR_SERVER.
 */
import { renameSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { dataPaths } from '../../src/datadir/dataDirectory.ts'
import { parseNodeId, parsePeerAddress } from '../../src/p2p/peerAddress.ts'
import {
  differences,
  type LocalNetwork,
  makeNetwork,
  type NetworkNode,
  waitForHeight,
} from '../e2e/network/localNetwork.ts'
import { freePort } from '../e2e/startNode.ts'
import { watchGossip } from './gossipWatcher.ts'
import { createPrivValServer, createTmkms, findSigners, type RealSigner, signersMissing } from './realSigners.ts'

const { values: flags } = parseArgs({
  options: {
    blocks: { type: 'string', default: '1000' },
    kills: { type: 'string', default: '10' },
    interval: { type: 'string', default: '400' },
  },
})
const blocks = Number(flags.blocks)
const kills = Number(flags.kills)

const programs = findSigners()
if (programs === undefined) {
  console.log(`skipped: ${signersMissing()}`)
  process.exit()
}
const { tmkms, privValServer } = programs

interface CommitAnswer {
  readonly signed_header: {
    readonly commit: {
      readonly signatures: readonly { readonly block_id_flag: number; readonly validator_address: string }[]
    }
  }
}

async function makeSigners(network: LocalNetwork): Promise<readonly RealSigner[]> {
  return Promise.all(
    network.validators.map(async ({ home }, index) => {
      const directory = join(network.directory, `signer-${index}`)
      // The node must do without it.
      const keyFile = join(network.directory, `key-${index}.json`)
      renameSync(dataPaths(home).validatorKey, keyFile)
      const options = { keyFile, directory, chainId: network.chainId, port: await freePort() }
      if (index % 2 === 0) return createTmkms(tmkms, options)
      return createPrivValServer(privValServer, options, index === 1 ? 'tcp' : 'unix')
    }),
  )
}

/** Kills one signer after another, evenly over the blocks. */
async function killInTurn(seed: NetworkNode, signers: readonly RealSigner[]): Promise<void> {
  const total = kills * signers.length
  for (let done = 0; done < total; done++) {
    await waitForHeight(seed, Math.round(((done + 1) * blocks) / (total + 1)), 600_000)
    const signer = signers[done % signers.length]!
    await signer.kill()
    await signer.start()
  }
}

/** Heights whose commit lacks a validator's precommit, by validator. */
async function missedHeights(
  seed: NetworkNode,
  validators: readonly string[],
): Promise<readonly (readonly number[])[]> {
  const missed = validators.map((): number[] => [])
  for (let height = 2; height <= blocks; height++) {
    const { signed_header } = await seed.comet<CommitAnswer>(`commit?height=${height}`)
    const signed = new Set(
      signed_header.commit.signatures.filter((each) => each.block_id_flag === 2).map((each) => each.validator_address),
    )
    for (const [index, address] of validators.entries()) if (!signed.has(address)) missed[index]!.push(height)
  }
  return missed
}

/** The sums of the lines of a histogram or counter, by labels. */
async function metricLines({ variables }: NetworkNode): Promise<readonly string[]> {
  const port = variables['METRICS_PORT']
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  return text
    .split('\n')
    .filter((line) => /^coind_signer_(seconds_(sum|count|bucket{le="0\.(01|05|1)"})|lost_total)/.test(line))
}

const network = await makeNetwork({ validators: 4, blockIntervalMs: Number(flags.interval) })
let hasFailed = false
let signers: readonly RealSigner[] = []
try {
  signers = await makeSigners(network)
  const nodes = Promise.all(network.validators.map((node, index) => node.start(signers[index]!.variables)))
  await Promise.all([nodes, ...signers.map((signer) => signer.start())])
  const peers = network.validators.map(({ nodeId, peerAddress }) => ({
    id: parseNodeId(nodeId),
    address: parsePeerAddress(peerAddress)!,
  }))
  const watcher = await watchGossip(network.chainId, network.genesisHash, peers)
  const beginMs = performance.now()
  await killInTurn(network.seed, signers)
  await waitForHeight(network.seed, blocks + 2, 600_000)
  const seconds = (performance.now() - beginMs) / 1000
  await sleep(1000)
  const addresses = await Promise.all(
    network.validators.map(async (node) => {
      const status = await node.comet<{ readonly validator_info: { readonly address: string } }>('status')
      return status.validator_info.address
    }),
  )
  const missed = await missedHeights(network.seed, addresses)
  console.log(`${blocks} blocks in ${seconds.toFixed(0)} s, each signer killed and started again ${kills} times`)
  for (const [index, signer] of signers.entries()) {
    const heights = missed[index]!
    console.log(`${signer.name}: ${heights.length} of ${blocks - 1} commits lack its precommit: ${heights.join(', ')}`)
    console.log((await metricLines(network.validators[index]!)).map((line) => `  ${line}`).join('\n'))
  }
  const different = await differences(network.validators)
  console.log(`${watcher.count} signatures seen by the watcher, ${watcher.contradictions.length} contradictions`)
  console.log(`${different.length} blocks differ`)
  for (const line of [...watcher.contradictions, ...different]) console.error(line)
  hasFailed = watcher.contradictions.length + different.length > 0 || watcher.count < blocks
  await watcher.close()
} finally {
  await Promise.all(signers.map((signer) => signer.kill()))
  await network.stop()
}
process.exit(hasFailed ? 1 : 0)
