// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {IHedge} from "../interfaces/IHedge.sol";
import {Guards} from "../libraries/Guards.sol";
import {LibMoney} from "../libraries/LibMoney.sol";
import {LibPool} from "../libraries/LibPool.sol";
import {HedgeEvent, LibStorage, Position, Protocol} from "../libraries/LibStorage.sol";
import {LibToken} from "../libraries/LibToken.sol";

/// @title Protection: purchases and payouts.
contract ProtectionFacet is Guards {
    /// @dev See {IHedge-buyProtection}.
    function buyProtection(uint256 _eventId, uint256 _notional, uint256 _maxCost, uint256 _deadline)
        external
        virtual
        whenNotPaused
        nonReentrant
        returns (uint256 positionId)
    {
        require(block.timestamp <= _deadline, "Past deadline");
        HedgeEvent storage e = existing(_eventId);
        require(block.timestamp < e.expiryDate && e.settledAt == 0, "Event expired");
        require(e.poolOpen, "Pool closed");
        require(_notional <= LibPool.capacity(e), "Exceeds capacity");
        (uint256 premium, uint256 fee) = cost(e, _notional);
        // Protection that costs nothing would be a gift from the pool.
        require(premium > 0, "Premium rounds to zero");
        require(premium + fee <= _maxCost, "Cost exceeds maxCost");

        positionId = record(_eventId, _notional, premium, fee);
        emit IHedge.PositionCreated(_eventId, positionId, msg.sender, _notional, premium, fee, premium + fee);
        LibToken.pull(e.paymentToken, premium + fee);
    }

    /// @dev See {IHedge-claimPayout}.
    function claimPayout(uint256 _positionId) external nonReentrant {
        Position storage position = LibStorage.protocol().positions[_positionId];
        require(position.hedger != address(0), "Position not found");
        require(msg.sender == position.hedger, "Not your position");
        require(!position.claimed, "Already claimed");
        HedgeEvent storage e = LibStorage.protocol().events[position.eventId];
        require(e.settledAt != 0, "Event not settled");
        uint256 gross = LibPool.payout(position);
        require(gross > 0, "No payout");
        uint256 fee = LibMoney.feeDown(gross, e.rates.payout);
        position.claimed = true;
        e.payoutsClaimed += gross;
        LibPool.bookFee(e, fee);
        emit IHedge.PayoutClaimed(_positionId, msg.sender, gross, fee, gross - fee);
        LibToken.push(e.paymentToken, msg.sender, gross - fee);
    }

    function cost(HedgeEvent storage e, uint256 notional) internal view returns (uint256 premium, uint256 fee) {
        premium = LibMoney.feeDown(notional, e.premiumRate);
        fee = LibMoney.feeDown(premium, e.rates.hedger);
    }

    /// @notice Books a purchase; the tokens are the caller's to move.
    function record(uint256 eventId, uint256 notional, uint256 premium, uint256 fee)
        internal
        returns (uint256 positionId)
    {
        Protocol storage s = LibStorage.protocol();
        HedgeEvent storage e = s.events[eventId];
        require(e.positionIds.length < LibPool.MAX_POSITIONS, "Too many positions");
        positionId = ++s.positionCount;
        s.positions[positionId] = Position(eventId, msg.sender, false, notional, premium, fee);
        s.hedgerPositionIds[msg.sender].push(positionId);
        e.positionIds.push(positionId);
        e.totalExposure += notional;
        e.totalMaxPayout += LibPool.worstPayout(e, notional);
        LibPool.accruePremium(e, premium);
        LibPool.bookFee(e, fee);
    }
}
