// Talks to a node by CometBFT's own RPC client and light client; ends with 1 at the first answer that is not as expected.
package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"log"
	"os"
	"time"

	db "github.com/cometbft/cometbft-db"
	"github.com/cometbft/cometbft/light"
	"github.com/cometbft/cometbft/light/provider"
	lighthttp "github.com/cometbft/cometbft/light/provider/http"
	lightstore "github.com/cometbft/cometbft/light/store/db"
	cmtproto "github.com/cometbft/cometbft/proto/tendermint/types"
	rpchttp "github.com/cometbft/cometbft/rpc/client/http"
	"github.com/cometbft/cometbft/types"
)

func must[T any](value T, err error) T {
	if err != nil {
		log.Output(2, err.Error())
		os.Exit(1)
	}
	return value
}

func expect(isTrue bool, format string, args ...any) {
	if !isTrue {
		log.Fatalf(format, args...)
	}
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	url := os.Getenv("COMET_URL")
	client := must(rpchttp.New(url, "/websocket"))
	read(ctx, client)
	followLight(ctx, client, url)
	if err := client.Start(); err != nil {
		log.Fatal(err)
	}
	defer client.Stop()
	subscribe(ctx, client)
}

func read(ctx context.Context, client *rpchttp.HTTP) {
	status := must(client.Status(ctx))
	expect(status.NodeInfo.Network == os.Getenv("COSMOS_CHAIN_ID"), "network %s", status.NodeInfo.Network)
	height := status.SyncInfo.LatestBlockHeight
	must(client.Health(ctx))
	must(client.NetInfo(ctx))
	must(client.ABCIInfo(ctx))
	must(client.ConsensusParams(ctx, &height))
	must(client.ConsensusState(ctx))
	must(client.DumpConsensusState(ctx))
	must(client.BlockchainInfo(ctx, 1, height))
	must(client.UnconfirmedTxs(ctx, nil))
	must(client.NumUnconfirmedTxs(ctx))
	genesis := must(client.Genesis(ctx))
	expect(genesis.Genesis.ChainID == status.NodeInfo.Network, "the genesis of %s", genesis.Genesis.ChainID)
	must(client.GenesisChunked(ctx, 0))

	block := must(client.Block(ctx, &height))
	expect(bytes.Equal(block.Block.Hash(), block.BlockID.Hash), "the hash of block %d", height)
	expect(block.Block.ValidateBasic() == nil, "block %d is not valid", height)
	same := must(client.BlockByHash(ctx, block.BlockID.Hash))
	expect(same.Block.Height == height, "block by hash")
	header := must(client.Header(ctx, &height))
	expect(bytes.Equal(header.Header.Hash(), block.BlockID.Hash), "the hash of header %d", height)
	must(client.BlockResults(ctx, &height))
	page, size := 1, 100
	set := must(client.Validators(ctx, &height, &page, &size))
	validators := must(types.ValidatorSetFromExistingValidators(set.Validators))
	commit := must(client.Commit(ctx, &height))
	if err := validators.VerifyCommit(status.NodeInfo.Network, commit.Commit.BlockID, height, commit.Commit); err != nil {
		log.Fatal(err)
	}

	hash := must(hex.DecodeString(os.Getenv("NATIVE_TX")))
	found := must(client.Tx(ctx, hash, true))
	at := must(client.Block(ctx, &found.Height))
	if err := found.Proof.Validate(at.Block.DataHash); err != nil {
		log.Fatal(err)
	}
	search := must(client.TxSearch(ctx, fmt.Sprintf("tx.height=%d", found.Height), true, &page, &size, "asc"))
	expect(search.TotalCount > 0, "TxSearch finds nothing")
	blocks := must(client.BlockSearch(ctx, fmt.Sprintf("block.height=%d", found.Height), &page, &size, "asc"))
	expect(blocks.TotalCount == 1, "BlockSearch finds %d blocks", blocks.TotalCount)
	fmt.Println("status, genesis, blocks, commits that its validator set verifies, searches, a transaction with its proof")
}

// followLight lets the light client verify the chain from block 1 up to the head.
func followLight(ctx context.Context, client *rpchttp.HTTP, url string) {
	first := int64(1)
	chainID := os.Getenv("COSMOS_CHAIN_ID")
	trusted := must(client.Commit(ctx, &first))
	options := light.TrustOptions{Period: time.Hour, Height: first, Hash: trusted.Header.Hash()}
	primary := must(lighthttp.New(chainID, url))
	witness := must(lighthttp.New(chainID, url))
	store := lightstore.New(db.NewMemDB(), chainID)
	verifier := must(light.NewClient(ctx, chainID, options, primary, []provider.Provider{witness}, store, light.SequentialVerification()))
	status := must(client.Status(ctx))
	verified := must(verifier.VerifyLightBlockAtHeight(ctx, status.SyncInfo.LatestBlockHeight, time.Now()))
	expect(bytes.Equal(verified.Hash(), status.SyncInfo.LatestBlockHash), "the light client has another block")
	fmt.Println("the light client verifies each header from block 1 to the head")
}

func subscribe(ctx context.Context, client *rpchttp.HTTP) {
	const capacity = 1000
	listen := func(query string) func() types.TMEventData {
		events := must(client.Subscribe(ctx, "client", query, capacity))
		return func() types.TMEventData {
			select {
			case event := <-events:
				return event.Data
			case <-ctx.Done():
				log.Fatalf("no event of %s", query)
				return nil
			}
		}
	}
	blocks, headers := listen("tm.event='NewBlock'"), listen("tm.event='NewBlockHeader'")
	block, isBlock := blocks().(types.EventDataNewBlock)
	expect(isBlock && block.Block.ValidateBasic() == nil, "the event of a block")
	header, isHeader := headers().(types.EventDataNewBlockHeader)
	expect(isHeader && header.Header.ValidateBasic() == nil, "the event of a header")
	fmt.Println("events NewBlock and NewBlockHeader over a WebSocket")
	consensus(ctx, client, listen)
}

// consensus follows what monitors of validators do: rounds, their steps, proposals, votes.
func consensus(ctx context.Context, client *rpchttp.HTTP, listen func(string) func() types.TMEventData) {
	set := must(client.Validators(ctx, nil, nil, nil))
	validators := must(types.ValidatorSetFromExistingValidators(set.Validators))
	votes, rounds := listen("tm.event='Vote'"), listen("tm.event='NewRound'")
	steps, proposals := listen("tm.event='NewRoundStep'"), listen("tm.event='CompleteProposal'")
	missing := map[cmtproto.SignedMsgType]bool{cmtproto.PrevoteType: true, cmtproto.PrecommitType: true}
	for len(missing) > 0 {
		event, isVote := votes().(types.EventDataVote)
		expect(isVote && event.Vote.ValidateBasic() == nil, "the event of a vote: %v", event)
		_, validator := validators.GetByIndex(event.Vote.ValidatorIndex)
		if err := event.Vote.Verify(os.Getenv("COSMOS_CHAIN_ID"), validator.PubKey); err != nil {
			log.Fatal(err)
		}
		delete(missing, event.Vote.Type)
	}
	round, isRound := rounds().(types.EventDataNewRound)
	expect(isRound && validators.HasAddress(round.Proposer.Address), "the event of a round: %v", round)
	step, isStep := steps().(types.EventDataRoundState)
	expect(isStep && step.Height > 0 && step.Step != "", "the event of a step: %v", step)
	proposal, isProposal := proposals().(types.EventDataCompleteProposal)
	expect(isProposal && len(proposal.BlockID.Hash) == 32, "the event of a proposal: %v", proposal)
	if err := client.UnsubscribeAll(ctx, "client"); err != nil {
		log.Fatal(err)
	}
	fmt.Println("events Vote of prevotes and precommits with valid signatures, NewRound, NewRoundStep, CompleteProposal")
}
