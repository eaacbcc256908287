// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ProtectionFacet} from "../facets/ProtectionFacet.sol";
import {IDeployedLogs} from "../interfaces/IDeployedLogs.sol";
import {LibPool} from "../libraries/LibPool.sol";
import {HedgeEvent} from "../libraries/LibStorage.sol";
import {Reasons} from "../libraries/Reasons.sol";
import {LibDeployed} from "./LibDeployed.sol";

/// @title Purchases limited by the free liquidity, with their own revert reasons.
contract DeployedProtectionFacet is ProtectionFacet {
    function buyProtection(uint256 _eventId, uint256 _notional, uint256 _maxCost, uint256 _deadline)
        external
        override
        whenNotPaused
        nonReentrant
        returns (uint256 positionId)
    {
        require(block.timestamp <= _deadline, Reasons.DEPLOYED_PAST_DEADLINE);
        HedgeEvent storage e = existing(_eventId);
        require(e.settledAt == 0, Reasons.DEPLOYED_EVENT_SETTLED);
        require(e.poolOpen, Reasons.DEPLOYED_POOL_CLOSED);
        require(block.timestamp < e.expiryDate, Reasons.EVENT_EXPIRED);
        require(_notional >= LibDeployed.MIN_AMOUNT, Reasons.MIN_NOTIONAL);
        require(LibPool.worstPayout(e, _notional) <= LibDeployed.free(e), Reasons.DEPLOYED_EXCEEDS_CAPACITY);
        (uint256 premium, uint256 fee) = cost(e, _notional);
        require(premium + fee <= _maxCost, Reasons.DEPLOYED_COST_EXCEEDS_MAX_COST);

        positionId = record(_eventId, _notional, premium, fee);
        emit IDeployedLogs.ProtectionPurchased(
            _eventId, positionId, msg.sender, _notional, premium, fee, premium + fee
        );
        LibDeployed.pull(e.paymentToken, premium + fee);
    }
}
