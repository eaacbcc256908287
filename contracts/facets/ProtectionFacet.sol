// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IHedgeProtection} from "../interfaces/IHedgeProtection.sol";
import {Guards} from "../libraries/Guards.sol";
import {LibMoney} from "../libraries/LibMoney.sol";
import {LibPool} from "../libraries/LibPool.sol";
import {HedgeEvent, LibStorage, Position, Protocol} from "../libraries/LibStorage.sol";
import {LibToken} from "../libraries/LibToken.sol";
import {Reasons} from "../libraries/Reasons.sol";

/// @title Protection: purchases and payouts.
contract ProtectionFacet is IHedgeProtection, Guards {
    /// @dev See {IHedgeProtection-buyProtection}.
    function buyProtection(uint256 _eventId, uint256 _notional, uint256 _maxCost, uint256 _deadline)
        external
        virtual
        whenNotPaused
        nonReentrant
        returns (uint256 positionId)
    {
        require(block.timestamp <= _deadline, Reasons.PAST_DEADLINE);
        HedgeEvent storage e = existing(_eventId);
        require(block.timestamp < e.expiryDate && e.settledAt == 0, Reasons.EVENT_EXPIRED);
        require(e.poolOpen, Reasons.POOL_CLOSED);
        require(_notional <= LibPool.capacity(e), Reasons.EXCEEDS_CAPACITY);
        (uint256 premium, uint256 fee) = cost(e, _notional);
        // Free protection would be a gift from the pool.
        require(premium > 0, Reasons.PREMIUM_ROUNDS_TO_ZERO);
        // Protection that can never pay would be a gift to the pool.
        require(LibPool.worstPayout(e, _notional) > 0, Reasons.PAYOUT_ROUNDS_TO_ZERO);
        require(premium + fee <= _maxCost, Reasons.COST_EXCEEDS_MAX_COST);

        positionId = record(_eventId, _notional, premium, fee);
        emit PositionCreated(_eventId, positionId, msg.sender, _notional, premium, fee, premium + fee);
        LibToken.pull(e.paymentToken, premium + fee);
    }

    /// @dev See {IHedgeProtection-claimPayout}.
    function claimPayout(uint256 _positionId) external nonReentrant {
        Position storage position = LibStorage.protocol().positions[_positionId];
        require(position.hedger != address(0), Reasons.POSITION_NOT_FOUND);
        require(msg.sender == position.hedger, Reasons.NOT_YOUR_POSITION);
        require(!position.claimed, Reasons.ALREADY_CLAIMED);
        HedgeEvent storage e = LibStorage.protocol().events[position.eventId];
        require(e.settledAt != 0, Reasons.EVENT_NOT_SETTLED);
        uint256 gross = LibPool.payout(position);
        require(gross > 0, Reasons.NO_PAYOUT);
        uint256 fee = LibMoney.feeDown(gross, e.rates.payout);
        position.claimed = true;
        e.payoutsClaimed += gross;
        LibPool.bookFee(e, fee);
        emit PayoutClaimed(_positionId, msg.sender, gross, fee, gross - fee);
        LibToken.push(e.paymentToken, msg.sender, gross - fee);
    }

    function cost(HedgeEvent storage e, uint256 notional) internal view returns (uint256 premium, uint256 fee) {
        premium = LibMoney.feeDown(notional, e.premiumRate);
        fee = LibMoney.feeDown(premium, e.rates.hedger);
    }

    /// @notice Records a purchase; the caller moves the tokens.
    function record(uint256 eventId, uint256 notional, uint256 premium, uint256 fee)
        internal
        returns (uint256 positionId)
    {
        Protocol storage s = LibStorage.protocol();
        HedgeEvent storage e = s.events[eventId];
        require(e.positionIds.length < LibPool.MAX_POSITIONS, Reasons.TOO_MANY_POSITIONS);
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
