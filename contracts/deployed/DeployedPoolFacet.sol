// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {PoolFacet} from "../facets/PoolFacet.sol";
import {IDeployedLogs} from "../interfaces/IDeployedLogs.sol";
import {LibPool} from "../libraries/LibPool.sol";
import {HedgeEvent} from "../libraries/LibStorage.sol";
import {LibDeployed} from "./LibDeployed.sol";

/// @title A closed pool still takes its creator's liquidity.
contract DeployedPoolFacet is PoolFacet {
    function deposit(uint256 _eventId, uint256 _amount)
        external
        override
        whenNotPaused
        nonReentrant
        returns (uint256 depositId)
    {
        HedgeEvent storage e = existing(_eventId);
        require(e.settledAt == 0, "Event not open");
        require(_amount >= LibDeployed.MIN_AMOUNT, "Min deposit: 10 USDC");
        require(msg.sender == e.creator || (e.poolOpen && e.allowExternalLp), "Pool closed to external LPs");
        depositId = LibPool.addDeposit(_eventId, msg.sender, _amount);
        emit IDeployedLogs.LiquidityDeposited(_eventId, depositId, msg.sender, _amount, _amount);
        LibDeployed.pull(e.paymentToken, _amount);
    }
}
