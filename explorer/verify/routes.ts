import { z } from 'zod'
import { toChecksumAddress } from '../../src/primitives/address.ts'
import { hexToBytes } from '../../src/primitives/bytes.ts'
import type { Api } from '../api/api.ts'
import { problem } from '../api/shapes.ts'
import { spelledAddress } from '../api/spelledAddress.ts'
import { type ContractSource, compilerList, contractInterface, contractSource } from './shapes.ts'
import type { Verification } from './submitSources.ts'
import { bestMatch, findInterface, findSource, type VerifiedSource } from './verifiedContracts.ts'

/** Sources of verified contracts. */
export function addSources(
  app: Api['app'],
  { queries, services, verifier }: Pick<Api, 'queries' | 'services'> & Pick<Verification, 'verifier'>,
): void {
  const tags = ['contracts']

  app.get(
    '/contracts/:address/source',
    {
      schema: {
        tags,
        summary: 'Sources of a verified contract',
        params: z.object({ address: spelledAddress.describe('0x… or coin1…') }),
        response: { 200: contractSource, 404: problem },
      },
    },
    async ({ params: { address } }, reply) => {
      const contract = await findSource({ services, queries }, address)
      if (contract === undefined) return reply.code(404).send({ error: 'this contract is not verified' })
      return viewSource(contract)
    },
  )

  app.get(
    '/contracts/:address/interface',
    {
      schema: {
        tags,
        summary: 'Name and ABI of a verified contract',
        params: z.object({ address: spelledAddress.describe('0x… or coin1…') }),
        response: { 200: contractInterface },
      },
    },
    async ({ params: { address } }) => {
      const contract = await findInterface({ services, queries }, address)
      if (contract === undefined) return { name: null, abi: null }
      return { name: contract.name, abi: contract.abi.map((item) => ({ ...item })) }
    },
  )

  app.get(
    '/compilers',
    { schema: { tags, summary: 'Compiler versions available for verification', response: { 200: compilerList } } },
    async () => ({ versions: [...verifier.compilers.versions] }),
  )
}

function viewSource({ address, runtimeMatch, creationMatch, verifiedAtMs, content }: VerifiedSource): ContractSource {
  const { name, path, compilerVersion, abi, input, runtime, creation } = content
  const values = { ...runtime.match?.transformationValues, ...creation?.match?.transformationValues }
  return {
    address: toChecksumAddress(address),
    name,
    path,
    language: input.language,
    compilerVersion,
    match: bestMatch(runtimeMatch, creationMatch),
    runtimeMatch,
    creationMatch,
    verifiedAt: new Date(verifiedAtMs).toISOString(),
    abi: abi.map((item) => ({ ...item })),
    constructorArguments: values.constructorArguments ?? null,
    libraries: Object.entries(values.libraries ?? {}).map(([library, own]) => ({
      name: library,
      address: toChecksumAddress(hexToBytes(own)),
    })),
    settings: input.settings,
    sources: Object.entries(input.sources).map(([own, { content: text }]) => ({ path: own, content: text })),
  }
}
